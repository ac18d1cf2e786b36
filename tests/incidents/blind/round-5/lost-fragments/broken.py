"""Sends first fragments of datagrams whose others never come: 200 at once, then up to a hundred a second."""

import os
import socket
import struct
import time

raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
source, target = socket.inet_aton("10.63.0.2"), socket.inet_aton("10.63.0.1")
MORE_FRAGMENTS = 0x2000


def send(number):
    """The beginning of a datagram."""
    payload = struct.pack("!HHHH", 7100, 7100, 8008, 0) + b"x" * 1432
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), number, MORE_FRAGMENTS, 64, 17, 0, source, target)
    raw.sendto(head + payload, ("10.63.0.1", 0))


for number in range(200):
    send(number)
print(os.getpid(), flush=True)
number = 200
while True:
    send(number % 65536)
    number += 1
    time.sleep(0.01)
