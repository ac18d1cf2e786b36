"""Stores what came in, each of it safely."""

import json
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


COUNT = 40
text = os.urandom(8192)
flush_ns = 0
began = wait_for_start()
for number in range(COUNT):
    for _ in range(10):
        zlib.compress(text)
    begin = time.monotonic_ns()
    with open(f"mounted/{number}", "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    flush_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, flush_ns=flush_ns)
