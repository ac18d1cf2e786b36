"""Looks up records of a store past the cache, one after the other."""

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
read_ns = longest_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    at = chosen.randrange(blocks) * BLOCK
    begin = time.monotonic_ns()
    os.preadv(fd, [buffer], at)
    took = time.monotonic_ns() - begin
    read_ns += took
    longest_ns = max(longest_ns, took)
    for _ in range(10):
        hashlib.sha256(buffer).digest()
tell(began, count=COUNT, read_ns=read_ns, longest_ns=longest_ns)
