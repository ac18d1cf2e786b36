"""Sends a snapshot to each of six sites in turn, over connections that stay."""

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


SITES, COUNT, WARM, SIZE = 6, 12, 2, 1000000
snapshot = os.urandom(SIZE)
connections = [socket.create_connection(("10.62.0.2", 9000)) for _ in range(SITES)]


def send(connection):
    """One snapshot, until the site has it."""
    begin = time.monotonic_ns()
    connection.sendall(snapshot)
    connection.recv(1)
    return time.monotonic_ns() - begin


for connection in connections:
    for _ in range(WARM):
        send(connection)
send_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.crc32(snapshot)
    send_ns += send(connections[number % SITES])
tell(began, total=COUNT * SIZE, send_ns=send_ns)
