"""Imports records: writes them piece by piece, and makes them safe after every second one."""

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


COUNT, PIECE = 64, 1 << 20
write_ns = 0
text = os.urandom(PIECE)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text[:65536])
    begin = time.monotonic_ns()
    os.write(fd, text)
    if number % 2:
        os.fdatasync(fd)
    write_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, write_ns=write_ns)
