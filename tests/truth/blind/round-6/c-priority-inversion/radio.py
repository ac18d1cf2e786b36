"""Of middling importance: computes for 250 ms, then pauses for 150, for ever."""

import time

while True:
    end = time.monotonic() + 0.25
    while time.monotonic() < end:
        pass
    time.sleep(0.15)
