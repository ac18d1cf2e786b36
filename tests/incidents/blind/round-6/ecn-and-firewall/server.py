"""Answers a request for each connection."""

import os
import socket

listener = socket.create_server(("10.66.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(connection.recv(512))
