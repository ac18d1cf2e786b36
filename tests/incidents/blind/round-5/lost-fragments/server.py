"""Answers with a block: datagrams with one, connections likewise."""

import os
import select
import socket

BLOCK = b"b" * 8300
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(("10.63.0.2", 7000))
listener = socket.create_server(("10.63.0.2", 7000))
print(os.getpid(), flush=True)
while True:
    ready = select.select([datagrams, listener], [], [])[0]
    if datagrams in ready:
        _, peer = datagrams.recvfrom(100)
        datagrams.sendto(BLOCK, peer)
    if listener in ready:
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            connection.sendall(BLOCK)
