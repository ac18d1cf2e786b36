"""Writes one archive after another, past the cache or through it: copy.py FILE direct|cached PAUSE_S."""

import mmap
import os
import sys
import time

MEBIBYTE, SIZE = 1 << 20, 64
path, how, pause_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
block = mmap.mmap(-1, MEBIBYTE)
block.write(os.urandom(MEBIBYTE))
while True:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_DIRECT if how == "direct" else 0), 0o600)
    for number in range(SIZE):
        os.pwrite(file, block, number * MEBIBYTE)
    os.fdatasync(file)
    os.close(file)
    time.sleep(pause_s)
