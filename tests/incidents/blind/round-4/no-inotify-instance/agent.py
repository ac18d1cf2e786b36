"""Takes inotify instances, as many as it gets; with a directory, answers what is ordered there."""

import ctypes
import os
import sys
import time

CLOSE_WRITE = 8
libc = ctypes.CDLL(None)
instances = [libc.inotify_init1(0) for _ in range(int(sys.argv[1]))]
if len(sys.argv) > 2:
    os.chdir(sys.argv[2])
    libc.inotify_add_watch(instances[0], b"orders", CLOSE_WRITE)
print(os.getpid(), flush=True)
while len(sys.argv) > 2:
    event = os.read(instances[0], 4096)
    name = event[16:].split(b"\0")[0].decode()
    with open(f"answers/{name}", "w") as file:
        file.write("done\n")
time.sleep(1000)
