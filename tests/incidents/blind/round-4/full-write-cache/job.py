"""Rewrites pages of a database here and there."""

import json
import mmap
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


COUNT, PAGE, SIZE = 2500, 4096, 96 << 20
text = bytes(range(256)) * 16
page = mmap.mmap(-1, PAGE)
random.seed(3)
disk = os.open("/dev/mapper/cached", os.O_RDWR | os.O_DIRECT)
write_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    os.pwritev(disk, [page], random.randrange(SIZE // PAGE) * PAGE)
    write_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, write_ns=write_ns)
