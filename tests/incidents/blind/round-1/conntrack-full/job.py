"""Calls an API over a connection that it has; every fourth time over a new one, given up after three seconds."""

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


COUNT = 16
API = ("10.99.0.2", 8080)
text = bytes(range(256)) * 256
call_ns = failed = 0
kept = socket.create_connection(API)
began = wait_for_start()
for number in range(COUNT):
    for _ in range(20):
        zlib.compress(text)
    begin = time.monotonic_ns()
    try:
        connection = socket.create_connection(API, timeout=3) if number % 4 == 3 else kept
        connection.sendall(b"status\n")
        connection.recv(16)
        if connection is not kept:
            connection.close()
    except TimeoutError:
        failed += 1
    call_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, failed=failed, call_ns=call_ns)
