"""Looks whether its device has something to say, of each 100 ms for so many: poller.py BUSY_MS."""

import os
import sys
import time

busy_ns = int(sys.argv[1]) * 1_000_000
print(os.getpid(), flush=True)
while True:
    begin = time.monotonic_ns()
    while time.monotonic_ns() - begin < busy_ns:
        pass
    time.sleep(max(0, 100_000_000 - busy_ns) / 1e9)
