"""Holds so many MiB in the cgroup of the cache."""

import mmap
import os
import signal
import sys

with open("/sys/fs/cgroup/app.slice/cache.service/cgroup.procs", "w") as members:
    members.write("0")
held = mmap.mmap(-1, int(sys.argv[1]) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(held), 4096):
    held[at] = 1
print(os.getpid(), flush=True)
signal.pause()
