"""Every request asks a backend, with a header and a body that are written one after the other, and may be answered so:
service.py PORT BACKEND NODELAY PIECES."""

import socket
import sys
import threading

from server import serve

PORT, BACKEND, NODELAY, PIECES = map(int, sys.argv[1:])
LENGTH = 200
LOCK = threading.Lock()
backend = socket.create_connection(("127.0.0.1", BACKEND))
backend.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, NODELAY)


def ask(path: str) -> None:
    """Ask the backend."""
    with LOCK:
        backend.send(bytes(LENGTH // 2))
        backend.send(bytes(LENGTH // 2))
        backend.recv(LENGTH)


for _ in range(40):  # at first every segment is acknowledged at once
    ask("/")
serve(PORT, ask, in_pieces=bool(PIECES))
