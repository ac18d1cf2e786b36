"""worker.py FILE: loads an index, takes some jobs, and is brought down by one that its library does not like."""

import ctypes
import sys
import time

index = bytearray(b"index of parts\n" * 15_000_000)
for job in range(5):
    time.sleep(0.02)
    assert index[job * 15] == index[0]
with open(sys.argv[1], "a") as done:
    done.write(f"{time.time_ns()}\n")
ctypes.string_at(0)
