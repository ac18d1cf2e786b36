"""Looks up entries of a table that is larger than its memory limit."""

import json
import mmap
import os
import random
import select
import struct
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


COUNT, PAGE, PAGES = 2500, 4096, 24_000
table = mmap.mmap(-1, PAGE * PAGES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(PAGES):
    table[page * PAGE : page * PAGE + 8] = struct.pack("Q", page)
choose = random.Random(5)
look_ns = total = 0
began = wait_for_start()
for _ in range(COUNT):
    begin = time.monotonic_ns()
    total += table[choose.randrange(PAGES) * PAGE]
    look_ns += time.monotonic_ns() - begin
    zlib.compress(bytes(range(256)) * 4)
tell(began, count=COUNT, look_ns=look_ns)
