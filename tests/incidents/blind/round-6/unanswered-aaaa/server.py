"""A name server: an address for each name; for AAAA, an answer that says there is none, or none if so told."""

import os
import socket
import sys

A, AAAA = 1, 28
silent = sys.argv[1] == "silent"
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("10.67.0.2", 53))
print(os.getpid(), flush=True)
while True:
    question, peer = listener.recvfrom(512)
    end = question.index(b"\0", 12) + 5
    kind = int.from_bytes(question[end - 4 : end - 2], "big")
    if kind == AAAA and silent:
        continue
    answers = kind == A
    head = question[:2] + b"\x81\x80\0\1" + bytes([0, answers]) + b"\0\0\0\0" + question[12:end]
    listener.sendto(head + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\x43\0\x02" * answers, peer)
