"""Asks the kernel to take memory back from a group that seems to have too much, as agents do that save memory."""

import sys
import time

if sys.argv[1] == "0":
    sys.exit(0)
while True:
    try:
        with open("/sys/fs/cgroup/pod/memory.reclaim", "w") as file:
            file.write(sys.argv[1])
    except BlockingIOError:
        pass  # it got less than it asked for
    time.sleep(0.3)
