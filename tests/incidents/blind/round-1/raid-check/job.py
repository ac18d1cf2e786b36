"""Looks up records of a store that is larger than the cache it may use, one after the other."""

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


COUNT, BLOCK = 500, 4096
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
blocks = os.fstat(fd).st_size // BLOCK
buffer = mmap.mmap(-1, BLOCK)
chosen = random.Random(7)
read_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    at = chosen.randrange(blocks) * BLOCK
    begin = time.monotonic_ns()
    os.preadv(fd, [buffer], at)
    read_ns += time.monotonic_ns() - begin
    for _ in range(5):
        hashlib.sha256(buffer).digest()
tell(began, count=COUNT, read_ns=read_ns)
