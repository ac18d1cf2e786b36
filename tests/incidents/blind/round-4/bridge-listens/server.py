"""Answers each line with another."""

import os
import socket

listener = socket.create_server(("10.98.0.1", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        if connection.recv(256):
            connection.sendall(b"y" * 200)
