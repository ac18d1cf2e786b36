"""Grows a heap: 4 MiB each time, of which it uses a page in 64 KiB at first."""

import json
import mmap
import os
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


COUNT, SIZE = 150, 4 << 20
text = bytes(range(256)) * 64
areas = []
touch_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    area = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for offset in range(0, SIZE, 65536):
        area[offset] = 1
    areas.append(area)
    touch_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, touch_ns=touch_ns)
