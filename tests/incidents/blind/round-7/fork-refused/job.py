"""Saves a table in the background: by a child, which has a copy of it; where there is none, by itself."""

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


COUNT, SIZE = 6, 900 << 20
table = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
table[: 4 << 20] = bytes(range(256)) * 16384
text = bytes(range(256)) * 256
save_ns = refused = 0
began = wait_for_start()
for _ in range(COUNT):
    begin = time.monotonic_ns()
    for _ in range(20):
        try:
            child = os.fork()
        except OSError:
            refused += 1
            time.sleep(0.05)
            continue
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        break
    save_ns += time.monotonic_ns() - begin
    zlib.compress(text)
tell(began, count=COUNT, refused=refused, save_ns=save_ns)
