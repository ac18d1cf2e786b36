"""Answers a message of 200 bytes so many milliseconds after all of it is there: backend.py PORT MS."""

import socket
import sys
import time

LENGTH = 200
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    got = 0
    while part := client.recv(LENGTH):
        got += len(part)
        if got >= LENGTH:
            got -= LENGTH
            time.sleep(float(sys.argv[2]) / 1000)
            client.send(b"done\n")
