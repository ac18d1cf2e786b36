"""Sends as many bytes as are asked for, again and again."""

import os
import socket

listener = socket.create_server(("10.91.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        while request := connection.recv(8, socket.MSG_WAITALL):
            connection.sendall(bytes(int(request)))
