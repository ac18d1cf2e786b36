"""Sends as many bytes as are asked for, for each connection."""

import os
import socket
import threading

listener = socket.create_server(("10.71.0.2", 8080), backlog=128)
print(os.getpid(), flush=True)


def serve(connection):
    """Answer one request."""
    with connection:
        size = int(connection.recv(512))
        connection.sendall(bytes(size))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(512)


while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
