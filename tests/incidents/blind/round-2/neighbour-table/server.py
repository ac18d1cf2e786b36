"""Answers each connection once."""

import os
import socket

listener = socket.create_server(("", 8080), backlog=128)
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        try:
            connection.sendall(b"answer to " + connection.recv(64))
            connection.recv(64)
        except OSError:
            pass
