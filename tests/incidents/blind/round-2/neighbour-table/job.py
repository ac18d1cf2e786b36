"""Scrapes each pod once."""

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


COUNT = 30
text = bytes(range(256)) * 128
call_ns = failed = 0
began = wait_for_start()
for number in range(1, COUNT + 1):
    begin = time.monotonic_ns()
    try:
        with socket.create_connection((f"10.80.1.{number}", 8080), timeout=3) as connection:
            connection.sendall(b"scrape")
            connection.recv(256)
    except OSError:
        failed += 1
    call_ns += time.monotonic_ns() - begin
    for _ in range(3):
        zlib.compress(text)
tell(began, count=COUNT, call_ns=call_ns, failed=failed)
