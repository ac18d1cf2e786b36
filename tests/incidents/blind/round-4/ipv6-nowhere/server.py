"""Answers each line with another, over IPv6 and IPv4."""

import os
import socket

listener = socket.create_server(("", 8080), family=socket.AF_INET6, dualstack_ipv6=True)
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        if connection.recv(256):
            connection.sendall(b"y" * 200)
