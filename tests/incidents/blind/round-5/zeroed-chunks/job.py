"""Puts records into a new volume, each in its place, and waits until it is safe there."""

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


COUNT, BLOCK, PLACES = 40, 4096, 1048576 * 512 >> 20
random.seed(11)
text = bytes(range(256)) * 768
volume = os.open("/dev/mapper/vg-data", os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
buffer = mmap.mmap(-1, BLOCK)
buffer.write(b"r" * BLOCK)
places = random.sample(range(PLACES), COUNT)
write_ns = 0
began = wait_for_start()
for place in places:
    zlib.compress(text)
    begin = time.monotonic_ns()
    os.pwritev(volume, [buffer], place << 20)
    write_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, write_ns=write_ns)
