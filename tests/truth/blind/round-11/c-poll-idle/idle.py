"""idle.py PORT COUNT FILE: connects so often, and says nothing, but once."""

import pathlib
import socket
import sys
import time

port, count, done = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
connections = []
while len(connections) < count:
    try:
        connections.append(socket.create_connection(("127.0.0.1", port), 60))
    except OSError:
        time.sleep(0.1)
connections[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
connections[-1].recv(100)  # all have been accepted
pathlib.Path(done).touch()
time.sleep(1000)
