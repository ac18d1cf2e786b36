"""Answers each question of 16 bytes with eight events of 500 bytes."""

import os
import socket

listener = socket.create_server(("10.90.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while connection.recv(16, socket.MSG_WAITALL):
            for _ in range(8):
                connection.sendall(bytes(500))
