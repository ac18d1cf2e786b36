"""Subscribes to a channel over many connections, and reads what comes."""

import os
import select
import socket
import sys

poll = select.epoll()
connections = {}
for _ in range(int(os.environ["SUBSCRIBERS"])):
    connection = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
    connection.sendall(b"SUBSCRIBE room\r\n")
    connection.recv(4096)
    connections[connection.fileno()] = connection
    poll.register(connection.fileno(), select.EPOLLIN)
with open("subscribed", "w"):
    pass
while True:
    for descriptor, _ in poll.poll():
        if not os.read(descriptor, 4096):
            sys.exit()
