"""A name server that knows one address, and drops every so-manyth question: resolver.py EVERY (0: none)."""

import socket
import sys

EVERY = int(sys.argv[1])
ADDRESS = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x7f\x00\x00\x01"  # of the name asked for: 127.0.0.1

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
number = 0
while True:
    question, client = server.recvfrom(512)
    number += 1
    if EVERY and number % EVERY == 0:
        continue
    end = question.index(b"\0", 12) + 5
    header = question[:2] + b"\x81\x80\0\x01\0\x01\0\0\0\0"
    server.sendto(header + question[12:end] + ADDRESS, client)
