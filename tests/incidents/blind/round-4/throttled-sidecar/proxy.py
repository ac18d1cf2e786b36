"""Passes lines on to the server, and answers back; signs both, as it speaks TLS to others."""

import hashlib
import os
import socket

listener = socket.create_server(("127.0.0.1", 15001))
print(os.getpid(), flush=True)
while True:
    below, _ = listener.accept()
    with below, socket.create_connection(("127.0.0.1", 8080)) as above:
        for connection in (below, above):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while line := below.recv(256):
            hashlib.pbkdf2_hmac("sha256", line, b"key", 200)
            above.sendall(line)
            answer = above.recv(256)
            hashlib.pbkdf2_hmac("sha256", answer, b"key", 200)
            below.sendall(answer)
