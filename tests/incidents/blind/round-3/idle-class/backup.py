"""Reads all of a store, again and again, in several threads."""

import mmap
import os
import threading

THREADS, BLOCK, BLOCKS = 6, 65536, 125


def read(first):
    buffer = mmap.mmap(-1, BLOCK)
    number = first
    while True:
        os.preadv(fd, [buffer], number % BLOCKS * BLOCK)
        number += THREADS


fd = os.open("mounted/store", os.O_RDONLY | os.O_DIRECT)
for first in range(THREADS):
    threading.Thread(target=read, args=(first,)).start()
print(os.getpid(), flush=True)
