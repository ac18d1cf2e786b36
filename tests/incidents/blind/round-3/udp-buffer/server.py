"""Sends the pieces that it is asked for."""

import os
import socket

connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
connection.bind(("127.0.0.1", 8091))
print(os.getpid(), flush=True)
while True:
    wanted, client = connection.recvfrom(2000)
    for number in wanted:
        connection.sendto(bytes([number]) * 1200, client)
