"""Takes uploads: reads to the end of each, and says how much it was."""

import os
import socket

listener = socket.create_server(("10.93.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        total = 0
        while data := connection.recv(1 << 16):
            total += len(data)
        connection.sendall(b"%8d" % total)
