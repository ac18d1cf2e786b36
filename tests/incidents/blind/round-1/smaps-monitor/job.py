"""Answers requests with a large heap: each maps a buffer, fills it, and gives it back."""

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


HEAP, COUNT, BYTES = 576 << 20, 120, 1 << 16
heap = mmap.mmap(-1, HEAP, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
heap.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, HEAP, 4096):
    heap[at] = 1
text = bytes(range(256)) * 16
map_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    begin = time.monotonic_ns()
    buffer = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    map_ns += time.monotonic_ns() - begin
    for at in range(0, BYTES, 4096):
        buffer[at : at + 4096] = text
    zlib.compress(buffer, 1)
    begin = time.monotonic_ns()
    buffer.close()
    map_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, map_ns=map_ns)
