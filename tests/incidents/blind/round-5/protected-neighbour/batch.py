"""Has read its files once, and waits for its next day."""

import os
import time

with open("/sys/fs/cgroup/pod/batch/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))
with open("mounted/old", "rb", buffering=0) as file:
    while file.read(1 << 20):
        pass
print(os.getpid(), flush=True)
time.sleep(300)
