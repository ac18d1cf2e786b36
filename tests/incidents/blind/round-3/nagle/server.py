"""Takes a head that says how long the body is, then the body, then answers."""

import os
import socket
import threading


def serve(connection):
    with connection, connection.makefile("rb") as file:
        while head := file.read(8):
            file.read(int(head))
            connection.sendall(b"stored\n")


listener = socket.create_server(("127.0.0.1", 8090))
print(os.getpid(), flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
