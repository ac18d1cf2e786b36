"""Looks at photos one after the other: reads each, and makes a small picture of it."""

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


COUNT, LOOK_NS = 8, 500_000_000
read_ns = 0
began = wait_for_start()
for number in range(COUNT):
    begin = time.monotonic_ns()
    with open(f"mounted/photo-{number}", "rb", buffering=0) as file:
        data = file.read()
    end = time.monotonic_ns()
    read_ns += end - begin
    while time.monotonic_ns() < end + LOOK_NS:
        zlib.compress(data[: 1 << 14])
tell(began, count=COUNT, read_ns=read_ns)
