"""Answers questions for addresses below example.com; other names there are none."""

import os
import socket
import struct

ADDRESS = socket.inet_aton("10.96.0.2")
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("10.96.0.2", 53))
print(os.getpid(), flush=True)
while True:
    query, client = listener.recvfrom(512)
    end = query.index(b"\0", 12) + 5
    question, kind = query[12:end], struct.unpack(">H", query[end - 4 : end - 2])[0]
    exists = question[:-5].endswith(b"\7example\3com")
    answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + ADDRESS if exists and kind == 1 else b""
    flags = 0x8180 if exists else 0x8183
    head = query[:2] + struct.pack(">HHHHH", flags, 1, 1 if answer else 0, 0, 0)
    listener.sendto(head + question + answer, client)
