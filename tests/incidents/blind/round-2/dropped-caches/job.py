"""Looks up articles of a catalogue, which it reads through the cache."""

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


COUNT, BLOCK, OFTEN = 9000, 4096, 1500
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
while os.read(fd, 1 << 20):
    pass
chosen = random.Random(7)
read_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    at = chosen.randrange(OFTEN) * 4 * BLOCK
    begin = time.monotonic_ns()
    block = os.pread(fd, BLOCK, at)
    read_ns += time.monotonic_ns() - begin
    zlib.crc32(block * 16)
tell(began, count=COUNT, read_ns=read_ns)
