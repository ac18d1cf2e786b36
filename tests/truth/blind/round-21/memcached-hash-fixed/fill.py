"""Puts 700,000 values into memcached."""

import os
import socket

connection = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))
for begin in range(0, 700_000, 10_000):
    connection.sendall(b"".join(b"set key:%d 0 0 8 noreply\r\n%08d\r\n" % (n, n) for n in range(begin, begin + 10_000)))
connection.sendall(b"version\r\n")
assert connection.recv(100).startswith(b"VERSION")
