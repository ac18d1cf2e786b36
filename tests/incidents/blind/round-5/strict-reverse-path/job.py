"""Serves requests, for each of which it asks for a name: the first server, then the second."""

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


COUNT, TIMEOUT = 16, 0.5
SERVERS = ("10.61.0.2", "10.61.1.2")


def resolve(name):
    """Return what a server says of a name."""
    for server in SERVERS:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.connect((server, 5300))
            connection.settimeout(TIMEOUT)
            connection.send(name)
            try:
                return connection.recv(512)
            except TimeoutError:
                continue
    raise OSError(name)


text = bytes(range(256)) * 2048
resolve_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    resolve(b"name%d" % number)
    resolve_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, resolve_ns=resolve_ns)
