"""Answers each question of 16 bytes with 1 KB."""

import os
import socket

listener = socket.create_server(("10.95.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        while connection.recv(16, socket.MSG_WAITALL):
            connection.sendall(bytes(1024))
