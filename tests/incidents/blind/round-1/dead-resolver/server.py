"""A name server that knows an address for every name."""

import os
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print(os.getpid(), flush=True)
while True:
    query, asker = server.recvfrom(512)
    question = query[12 : query.index(b"\0", 12) + 5]
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1"
    server.sendto(query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question + answer, asker)
