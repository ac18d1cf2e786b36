"""Leaves bind mounts behind."""

import ctypes
import os
import sys

BIND = 0x1000
libc = ctypes.CDLL(None)
for number in range(int(sys.argv[1])):
    name = f"pods/{number}"
    os.mkdir(name)
    if libc.mount(b"/tmp", name.encode(), None, BIND, None):
        raise OSError(name)
