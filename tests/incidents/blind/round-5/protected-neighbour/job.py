"""Searches an index: reads blocks of it here and there."""

import json
import os
import random
import select
import time
import zlib


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


COUNT, BLOCK = 2500, 4096
random.seed(9)
text = bytes(range(256)) * 24
index = os.open("mounted/index", os.O_RDONLY)
os.posix_fadvise(index, 0, 0, os.POSIX_FADV_RANDOM)
blocks = os.fstat(index).st_size // BLOCK
read_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    os.pread(index, BLOCK, random.randrange(blocks) * BLOCK)
    read_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, read_ns=read_ns)
