"""A worker of the server: answers a question of 16 bytes for each connection."""

import os
import socket

listener = socket.create_server(("127.0.0.1", 8080), reuse_port=True, backlog=100)
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(16, socket.MSG_WAITALL)
        connection.sendall(bytes(1024))
