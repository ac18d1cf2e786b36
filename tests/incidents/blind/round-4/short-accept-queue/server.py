"""Answers each line with another, one connection after the other."""

import os
import socket
import zlib

text = bytes(range(256)) * 16
listener = socket.create_server(("127.0.0.1", 8080), backlog=511)
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        if connection.recv(256):
            zlib.compress(text)
            connection.sendall(b"y" * 200)
