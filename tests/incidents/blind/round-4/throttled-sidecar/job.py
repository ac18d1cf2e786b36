"""Asks a server for entries, through the proxy beside it."""

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


COUNT = 60
text = bytes(range(256)) * 256
connection = socket.create_connection(("127.0.0.1", 15001))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
call_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    connection.sendall(b"get %d\n" % number)
    connection.recv(256)
    call_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, call_ns=call_ns)
