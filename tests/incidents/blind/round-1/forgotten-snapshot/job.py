"""Writes pages in place past the page cache, as a database with O_DIRECT does."""

import hashlib
import json
import mmap
import os
import random
import select
import sys
import time


def wait_for_start():
    """Say that all is prepared, and wait for the recorder: with two descriptors, as for events."""
    print('{"ready": true}', flush=True)
    nothing, other = os.pipe()
    poll = select.poll()
    for fd in (0, nothing):
        poll.register(fd, select.POLLIN)
    poll.poll()
    os.read(0, 1)
    os.close(nothing)
    os.close(other)
    return time.monotonic_ns()


def tell(began, **truth):
    print(json.dumps({"elapsed_ns": time.monotonic_ns() - began, **truth}), flush=True)


COUNT, PAGE = 600, 16384
fd = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
pages = list(range(os.fstat(fd).st_size // PAGE))
random.Random(7).shuffle(pages)
page = mmap.mmap(-1, PAGE)
write_ns = 0
began = wait_for_start()
for number in pages[:COUNT]:
    page[:32] = hashlib.sha256(page[:4096]).digest()
    begin = time.monotonic_ns()
    os.pwritev(fd, [page], number * PAGE)
    write_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, write_ns=write_ns)
