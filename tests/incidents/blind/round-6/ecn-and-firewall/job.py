"""Calls a service, each time with a connection of its own."""

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


COUNT = 8
text = bytes(range(256)) * 2048
connect_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    with socket.create_connection(("10.66.0.2", 8080)) as connection:
        connect_ns += time.monotonic_ns() - begin
        connection.sendall(b"order %d" % number)
        connection.recv(512)
tell(began, count=COUNT, connect_ns=connect_ns)
