"""Takes mails into a queue, in the pieces in which they come."""

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


COUNT, PIECES = 30, 3
text = bytes(range(256)) * 1280
write_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    with open(f"mounted/spool/{number}", "wb", buffering=0) as file:
        for _ in range(PIECES):
            begin = time.monotonic_ns()
            file.write(text[:4096])
            write_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, write_ns=write_ns)
