"""Answers each question."""

import os
import socket

listener = socket.create_server(("10.84.0.100", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        while connection.recv(512):
            connection.sendall(b"answer")
