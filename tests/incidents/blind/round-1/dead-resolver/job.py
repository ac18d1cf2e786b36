"""Delivers messages: looks up the host of each, and signs the message."""

import json
import os
import select
import socket
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


COUNT = 6
text = bytes(range(256)) * 256
lookup_ns = 0
began = wait_for_start()
for number in range(COUNT):
    for _ in range(40):
        zlib.compress(text)
    begin = time.monotonic_ns()
    socket.getaddrinfo(f"mx{number}.example.org", 25, socket.AF_INET, socket.SOCK_STREAM)
    lookup_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, lookup_ns=lookup_ns)
