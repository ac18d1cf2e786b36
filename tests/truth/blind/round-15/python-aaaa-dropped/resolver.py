"""resolver.py empty|dropped: a name server that answers for IPv4; questions for IPv6 get an empty answer, or none."""

import socket
import sys

A, HEADER = 1, 12
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    question, client = server.recvfrom(512)
    end = HEADER
    while question[end]:
        end += question[end] + 1
    kind = int.from_bytes(question[end + 1 : end + 3], "big")
    asked = question[HEADER : end + 5]
    if kind == A:
        answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x7f\x00\x00\x01"
        server.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + asked + answer, client)
    elif sys.argv[1] == "empty":
        server.sendto(question[:2] + b"\x81\x80\0\1\0\0\0\0\0\0" + asked, client)
