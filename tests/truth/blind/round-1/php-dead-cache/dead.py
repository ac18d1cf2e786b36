"""PORT: a socket that listens and takes no further connection."""

import socket
import sys
import time

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=0)
kept = []
for _ in range(3):
    kept.append(socket.socket())
    kept[-1].setblocking(False)
    kept[-1].connect_ex(("127.0.0.1", int(sys.argv[1])))
while True:
    time.sleep(1)
