"""Answers each line with another."""

import os
import socket
import threading


def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as file:
        while file.readline():
            connection.sendall(b"y" * 200)


listener = socket.create_server(("127.0.0.1", 8080))
print(os.getpid(), flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
