"""Imports small files: looks at each, and reads it."""

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


COUNT = 2500
text = bytes(range(256))
os.mkdir("import")
for number in range(20):
    with open(f"import/{number}", "wb") as file:
        file.write(text)
read_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    name = f"import/{number % 20}"
    os.stat(name)
    file = os.open(name, os.O_RDONLY)
    os.read(file, 4096)
    os.close(file)
    read_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, read_ns=read_ns)
