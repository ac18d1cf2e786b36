"""Looks up versions of files, as a synchroniser does."""

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


COUNT = 12000
text = bytes(range(256)) * 32
for number in range(100):
    with open(str(number), "wb") as file:
        file.write(text)
calls_ns = 0
began = wait_for_start()
for number in range(COUNT):
    name = str(number % 100)
    begin = time.monotonic_ns()
    os.stat(name)
    fd = os.open(name, os.O_RDONLY)
    os.read(fd, 512)
    os.close(fd)
    calls_ns += time.monotonic_ns() - begin
    if number % 50 == 0:
        zlib.compress(text)
tell(began, count=COUNT, calls_ns=calls_ns)
