"""Packs a log, and gives the pieces to a filter that looks for more every four milliseconds."""

import fcntl
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


COUNT, PIECE = 120, 60000
GET_SIZE = 1032
text = bytes(range(256)) * 320
taken, given = os.pipe()
size = fcntl.fcntl(given, GET_SIZE)
if not os.fork():
    os.close(given)
    while os.read(taken, 1 << 20):
        time.sleep(0.004)
    os._exit(0)
os.close(taken)
write_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    os.write(given, text[:PIECE])
    write_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, pipe=size, write_ns=write_ns)
