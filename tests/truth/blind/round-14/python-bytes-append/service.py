"""service.py PORT STORE bytes|bytearray: fetches a document for each request, and puts its pieces together."""

import socket
import sys
import threading

from server import serve

port, store, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
SIZE = 2_500_000
own = threading.local()


def fetch(path):
    if not hasattr(own, "connection"):
        own.connection = socket.create_connection(("127.0.0.1", store))
    own.connection.sendall(b"fetch\n")
    body = b"" if kind == "bytes" else bytearray()
    while len(body) < SIZE:
        body += own.connection.recv(4096)
    return len(body)


serve(port, fetch)
