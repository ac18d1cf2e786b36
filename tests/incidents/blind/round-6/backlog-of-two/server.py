"""Sends an object for each connection."""

import os
import socket

SIZE = 400_000
listener = socket.create_server(("10.69.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(512)
        connection.sendall(bytes(SIZE))
