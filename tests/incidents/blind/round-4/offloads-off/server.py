"""Takes what comes."""

import os
import socket

room = bytearray(1 << 20)
listener = socket.create_server(("10.96.0.2", 8080))
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        while connection.recv_into(room):
            pass
        connection.sendall(b"y")
