"""Answers a message of 200 bytes at once when all of it is there: backend.py PORT."""

import socket
import sys

LENGTH = 200
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    got = 0
    while part := client.recv(LENGTH):
        got += len(part)
        if got >= LENGTH:
            got -= LENGTH
            client.send(b"done\n")
