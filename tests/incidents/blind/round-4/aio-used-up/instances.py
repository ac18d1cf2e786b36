"""Other databases: they hold as many slots as they are told, or as there are."""

import ctypes
import os
import sys
import time

SETUP = 206
libc = ctypes.CDLL(None)
wanted, size = int(sys.argv[1]), 4096
contexts = []
while wanted > 0 and size:
    context = ctypes.c_ulong()
    if libc.syscall(SETUP, min(size, wanted), ctypes.byref(context)):
        size //= 2
    else:
        contexts.append(context)
        wanted -= size
print(os.getpid(), flush=True)
time.sleep(1000)
