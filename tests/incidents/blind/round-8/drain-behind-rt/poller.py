"""The packet engine: polls for 95 of each 100 ms, and takes a buffer now and then."""

import mmap
import time

while True:
    end = time.monotonic() + 0.095
    while time.monotonic() < end:
        with mmap.mmap(-1, 4096) as buffer:
            buffer[0] = 1
            for _ in range(1000):
                pass
    time.sleep(0.005)
