"""Reads an archive piece by piece, some forty a second, in a cgroup of its own below the slice."""

import mmap
import os
import sys
import time

with open("/sys/fs/cgroup/batch.slice/backup.service/cgroup.procs", "w") as members:
    members.write("0")
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
size = os.fstat(fd).st_size
piece = mmap.mmap(-1, 65536)
at = 0
while True:
    os.preadv(fd, [piece], at)
    at = (at + 65536) % size
    time.sleep(0.025)
