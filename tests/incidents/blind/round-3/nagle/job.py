"""Sends entries to a log store: a head and a body each, and waits for the answer."""

import json
import os
import select
import socket
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


COUNT = 120
text = bytes(range(256)) * 16
connection = socket.create_connection(("127.0.0.1", 8090))
if int(sys.argv[1]):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
call_ns = 0
began = wait_for_start()
for _ in range(COUNT):
    zlib.compress(text * 4)
    begin = time.monotonic_ns()
    connection.sendall(b"%8d" % 600)
    connection.sendall(b"x" * 600)
    connection.recv(16)
    call_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, call_ns=call_ns)
