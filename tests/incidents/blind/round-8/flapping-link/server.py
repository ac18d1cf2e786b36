"""Answers each question of 16 bytes with 4 KB."""

import os
import socket

listener = socket.create_server(("10.94.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        while connection.recv(16, socket.MSG_WAITALL):
            connection.sendall(bytes(4096))
