"""Serves pages: opens and reads the scripts that each of them includes."""

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


FILES, PAGES = 12, 40
for _ in range(10):  # a site that has been up for a while
    for number in range(FILES):
        with open(f"site/include-{number}.php", "rb") as file:
            file.read()
text = bytes(range(256)) * 64
open_ns = 0
began = wait_for_start()
for _ in range(PAGES):
    zlib.compress(text)
    begin = time.monotonic_ns()
    for number in range(FILES):
        with open(f"site/include-{number}.php", "rb") as file:
            file.read()
    open_ns += time.monotonic_ns() - begin
tell(began, pages=PAGES, open_ns=open_ns)
