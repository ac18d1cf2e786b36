"""Puts documents into a spool, with some work for each."""

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


COUNT = 60
text = bytes(range(256)) * 256
put_ns = longest_ns = 0
began = wait_for_start()
for number in range(COUNT):
    for _ in range(8):
        zlib.compress(text)
    begin = time.monotonic_ns()
    with open(f"{sys.argv[1]}/{number}", "wb") as document:
        document.write(text[:4096])
    took = time.monotonic_ns() - begin
    put_ns += took
    longest_ns = max(longest_ns, took)
tell(began, count=COUNT, put_ns=put_ns, longest_ns=longest_ns)
