"""A cache of large files: changes each a little, and looks at its head."""

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


COUNT, FILES, SIZE = 60, 10, 2 << 20
text = os.urandom(SIZE)
for number in range(FILES):
    with open(f"mounted/{number}", "wb") as file:
        file.write(text)
open_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text[:65536])
    name = f"mounted/{number % FILES}"
    writer = os.open(name, os.O_WRONLY)
    os.pwrite(writer, b"%d" % number, 0)
    os.close(writer)
    begin = time.monotonic_ns()
    reader = os.open(name, os.O_RDONLY)
    open_ns += time.monotonic_ns() - begin
    os.read(reader, 512)
    os.close(reader)
tell(began, count=COUNT, open_ns=open_ns)
