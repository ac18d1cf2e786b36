"""Writes down a day's records, and makes them safe every 512 KB."""

import json
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


COUNT, LINES = 8, 8192
random.seed(3)
text = b"".join(b"%08x %08x %d pieces, done\n" % (random.getrandbits(32), line, line % 17) for line in range(LINES))
sync_ns = 0
began = wait_for_start()
with open("mounted/data", "wb", buffering=0) as file:
    for _ in range(COUNT):
        zlib.compress(text)
        file.write(text)
        begin = time.monotonic_ns()
        os.fsync(file.fileno())
        sync_ns += time.monotonic_ns() - begin
tell(began, total=COUNT * len(text), sync_ns=sync_ns)
