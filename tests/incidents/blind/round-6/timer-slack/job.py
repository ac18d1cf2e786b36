"""Plays out frames: sleeps until the next is due, 2 ms later, and sends it."""

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


COUNT = 200
text = bytes(range(256)) * 64
began = wait_for_start()
slept_ns = 0
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    time.sleep(0.002)
    slept_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, slept_ns=slept_ns)
