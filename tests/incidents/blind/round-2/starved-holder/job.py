"""Takes jobs from a queue, and notes in it under its lock what is done."""

import fcntl
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


COUNT = 250
text = bytes(range(256)) * 64
lock_ns = 0
fd = os.open(sys.argv[1], os.O_RDWR)
began = wait_for_start()
for number in range(COUNT):
    for _ in range(6):
        zlib.compress(text)
    begin = time.monotonic_ns()
    fcntl.flock(fd, fcntl.LOCK_EX)
    lock_ns += time.monotonic_ns() - begin
    os.pwrite(fd, b"%08d" % number, 0)
    fcntl.flock(fd, fcntl.LOCK_UN)
tell(began, count=COUNT, lock_ns=lock_ns)
