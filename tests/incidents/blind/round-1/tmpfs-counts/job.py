"""Looks words up in an index that would fit into the page cache."""

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


with open("/sys/fs/cgroup/search.pod/cgroup.procs", "w") as members:
    members.write("0")
COUNT, BLOCK = 4000, 8192
fd = os.open(sys.argv[1], os.O_RDONLY)
blocks = os.fstat(fd).st_size // BLOCK
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for number in range(blocks):  # as it has been for long
    os.pread(fd, BLOCK, number * BLOCK)
chosen = random.Random(7)
read_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    at = chosen.randrange(blocks) * BLOCK
    begin = time.monotonic_ns()
    data = os.pread(fd, BLOCK, at)
    read_ns += time.monotonic_ns() - begin
    for _ in range(8):
        zlib.crc32(data)
tell(began, count=COUNT, read_ns=read_ns)
