"""visitors.py PORT COUNT: so many visitors, each with a browser of its own, the first of them last."""

import socket
import sys

connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
answers = connection.makefile("rb")
for visitor in range(1, int(sys.argv[2]) + 1):
    connection.sendall(f"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: Browser/{visitor}\r\n\r\n".encode())
    assert b" 200 " in answers.readline()
    length = 0
    while (line := answers.readline()) not in (b"\r\n", b""):
        name, _, value = line.lower().partition(b":")
        length = int(value) if name == b"content-length" else length
    answers.read(length)
