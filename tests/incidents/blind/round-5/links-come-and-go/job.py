"""Sets an address for each new tenant."""

import json
import os
import select
import socket
import struct
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


NEW_ADDRESS, REQUEST, ACK, CREATE = 20, 1, 4, 0x400
LOCAL = 2
COUNT = 800
text = bytes(range(256)) * 12
index = socket.if_nametoindex("tenants")
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
netlink.bind((0, 0))
set_ns = 0
began = wait_for_start()
for number in range(COUNT):
    zlib.compress(text)
    body = struct.pack("BBBBI", socket.AF_INET, 32, 0, 0, index)
    body += struct.pack("HH4s", 8, LOCAL, socket.inet_aton(f"10.64.{number // 200}.{number % 200 + 1}"))
    head = struct.pack("IHHII", 16 + len(body), NEW_ADDRESS, REQUEST | ACK | CREATE, number + 1, 0)
    begin = time.monotonic_ns()
    netlink.send(head + body)
    netlink.recv(4096)
    set_ns += time.monotonic_ns() - begin
tell(began, count=COUNT, set_ns=set_ns)
