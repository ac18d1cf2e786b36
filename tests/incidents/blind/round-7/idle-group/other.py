"""Scales pictures on the same CPU: computes for 190 ms, then waits 10 ms for the next."""

import os
import time

with open("/sys/fs/cgroup/pictures/cgroup.procs", "w") as file:
    file.write("0")
os.sched_setaffinity(0, {1})
while True:
    end = time.monotonic() + 0.19
    while time.monotonic() < end:
        pass
    time.sleep(0.01)
