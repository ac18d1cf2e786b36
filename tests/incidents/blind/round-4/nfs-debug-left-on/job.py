"""Looks at files of a share, as a build does."""

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


COUNT = 150
text = bytes(range(256)) * 64
os.chdir(sys.argv[1])
for number in range(COUNT):
    with open(str(number), "wb") as file:
        file.write(text)
call_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    fd = os.open(str(number), os.O_RDONLY)
    os.fstat(fd)
    os.close(fd)
    call_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, call_ns=call_ns)
