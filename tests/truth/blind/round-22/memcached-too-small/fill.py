"""Puts all pages into memcached, as a day of visitors does."""

import os
import socket

connection = socket.create_connection(("127.0.0.1", int(os.environ["CACHE"])))
answers = connection.makefile("rb")
body = b"x" * 40000
for page in range(2000):
    connection.sendall(b"set page:%d 0 0 %d\r\n%s\r\n" % (page, len(body), body))
    assert answers.readline() == b"STORED\r\n"
