"""Appends messages to a log, each of which it packs first."""

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


COUNT = 600
text = bytes(range(256)) * 16
write_ns = worst_ns = 0
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
began = wait_for_start()
for _ in range(COUNT):
    for _ in range(10):
        message = zlib.compress(text, 1)
    begin = time.monotonic_ns()
    os.write(log, message)
    spent = time.monotonic_ns() - begin
    write_ns += spent
    worst_ns = max(worst_ns, spent)
tell(began, count=COUNT, write_ns=write_ns, worst_ns=worst_ns)
