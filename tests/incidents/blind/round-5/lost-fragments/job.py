"""Works on blocks of another node: asks for each with a datagram, twice if need be, then over a connection."""

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


COUNT, TIMEOUT, NODE = 20, 0.15, ("10.63.0.2", 7000)
text = bytes(range(256)) * 1536
fetch_ns = fallbacks = 0
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.connect(NODE)
asking.settimeout(TIMEOUT)


def fetch(number):
    """A block; whether the connection was needed for it."""
    for _ in range(2):
        asking.send(b"%d" % number)
        try:
            asking.recv(1 << 16)
            return False
        except TimeoutError:
            continue
    with socket.create_connection(NODE) as connection:
        connection.sendall(b"%d" % number)
        while connection.recv(1 << 16):
            pass
    return True


began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    begin = time.monotonic_ns()
    fallbacks += fetch(number)
    fetch_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, fallbacks=fallbacks, fetch_ns=fetch_ns)
