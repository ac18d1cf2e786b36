"""Mounts so many volumes, as kubelet does for pods: volumes.py FOLDER COUNT."""

import ctypes
import os
import sys

mount = ctypes.CDLL(None, use_errno=True).mount
for number in range(int(sys.argv[2])):
    path = f"{sys.argv[1]}/pods/{number}/volumes/secret"
    os.makedirs(path)
    if mount(b"tmpfs", path.encode(), b"tmpfs", 0, b"size=64k"):
        raise OSError(ctypes.get_errno(), path)
