"""Reads each page of a site once and compresses it."""

import json
import os
import select
import sys
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


spent_ns = 0
numbers = range(1, 61)
began = wait_for_start()
for number in numbers:
    begin = time.monotonic_ns()
    with open(f"{sys.argv[1]}/{number}", "rb") as page:
        text = page.read()
    spent_ns += time.monotonic_ns() - begin
    for _ in range(60):
        zlib.compress(text * 100)
tell(began, count=len(numbers), read_ns=spent_ns)
