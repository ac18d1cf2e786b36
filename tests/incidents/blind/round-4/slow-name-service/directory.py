"""Knows everybody's name."""

import os
import socket

listener = socket.create_server(("10.95.0.2", 389))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while query := connection.recv(256):
            connection.sendall(b"user%d\n" % int(query[4:]))
