"""Takes uploads, each of which says its length in a first line, and says when it has one."""

import os
import socket
import threading


def serve(connection):
    with connection, connection.makefile("rb") as file:
        try:
            while line := file.readline():
                left = int(line)
                while left > 0 and (piece := file.read(min(left, 65536))):
                    left -= len(piece)
                connection.sendall(b"stored\n")
        except (OSError, ValueError):
            pass


listener = socket.create_server(("10.98.0.2", 8080), backlog=64)
print(os.getpid(), flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
