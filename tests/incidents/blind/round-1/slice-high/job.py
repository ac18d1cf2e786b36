"""Answers requests, each of which needs some memory for a moment."""

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


with open("/sys/fs/cgroup/app.slice/web.service/cgroup.procs", "w") as members:
    members.write("0")
COUNT, BYTES = 24, 1 << 19
text = bytes(range(256)) * 16
began = wait_for_start()
for _ in range(COUNT):
    buffer = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, BYTES, len(text)):
        buffer[at : at + len(text)] = text
    for _ in range(8):
        zlib.compress(text * 2)
        zlib.crc32(buffer)
    buffer.close()
tell(began, count=COUNT)
