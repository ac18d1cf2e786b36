"""Enters orders, each of them safely."""

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


COUNT = 1000
text = bytes(range(256)) * 64
flush_ns = worst_ns = 0
with open("mounted/log", "wb") as file:
    began = wait_for_start()
    for _ in range(COUNT):
        zlib.compress(text)
        file.write(text[:4096])
        begin = time.monotonic_ns()
        file.flush()
        os.fsync(file.fileno())
        took = time.monotonic_ns() - begin
        flush_ns += took
        worst_ns = max(worst_ns, took)
tell(began, count=COUNT, flush_ns=flush_ns, worst_ns=worst_ns)
