"""ADDRESS ANSWERS: a name server that says of every name that it does not exist, or nothing at all."""

import socket
import sys

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    question, client = server.recvfrom(512)
    if sys.argv[2] == "yes":
        server.sendto(
            question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:].partition(b"\0\0\x29")[0], client
        )
