"""ANSWERS: a name server that says NXDOMAIN, or nothing."""

import socket
import sys

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    question, client = server.recvfrom(2000)
    if sys.argv[1] == "1":
        server.sendto(question[:2] + b"\x81\x83" + question[4:], client)
