"""Imports records: parses each, and puts it into a file of its own."""

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


COUNT = 120
record = bytes(range(256)) * 64
spent_ns = worst_ns = 0
began = wait_for_start()
for number in range(COUNT):
    for _ in range(8):
        zlib.compress(record)
    begin = time.monotonic_ns()
    with open(f"{sys.argv[1]}/{number}", "wb") as file:
        file.write(record)
    spent = time.monotonic_ns() - begin
    spent_ns += spent
    worst_ns = max(worst_ns, spent)
tell(began, count=COUNT, write_ns=spent_ns, worst_ns=worst_ns)
