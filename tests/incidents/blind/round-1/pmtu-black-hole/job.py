"""Uploads reports: three short ones, then a long one, which is given up after three seconds."""

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


COUNT, SHORT, LONG = 16, 300, 20000
text = bytes(range(256)) * 256
upload_ns = failed = 0
connection = socket.create_connection(("10.70.3.2", 8080), timeout=3)
began = wait_for_start()
for number in range(COUNT):
    for _ in range(20):
        zlib.compress(text)
    length = LONG if number % 4 == 3 else SHORT
    begin = time.monotonic_ns()
    try:
        connection.sendall(b"%d\n" % length + b"x" * length)
        connection.recv(16)
    except TimeoutError:
        failed += 1
        connection.close()
        connection = socket.create_connection(("10.70.3.2", 8080), timeout=3)
    upload_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, failed=failed, upload_ns=upload_ns)
