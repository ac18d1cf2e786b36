"""Reads the index as its group does, some times over: what fits is in memory afterwards."""

import os

with open("/sys/fs/cgroup/pod/search/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))
with open("mounted/index", "rb", buffering=0) as file:
    for _ in range(3):
        file.seek(0)
        while file.read(1 << 20):
            pass
