"""Looks things up in an index on a volume of its own, which it has read once."""

import json
import os
import random
import select
import sys
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


COUNT, BLOCK, INDEX = 2500, 4096, 400 << 20
fd = os.open(sys.argv[1], os.O_RDONLY)
for at in range(0, INDEX, 1 << 20):
    os.posix_fadvise(fd, at, 1 << 20, os.POSIX_FADV_WILLNEED)
    os.pread(fd, 1 << 20, at)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
chosen = random.Random(7)
read_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    at = chosen.randrange(INDEX // BLOCK) * BLOCK
    begin = time.monotonic_ns()
    block = os.pread(fd, BLOCK, at)
    read_ns += time.monotonic_ns() - begin
    zlib.crc32(block * 32)
tell(began, count=COUNT, read_ns=read_ns)
