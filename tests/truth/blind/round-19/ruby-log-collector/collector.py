"""collector.py PORT BYTES: reads so many bytes a second of what it is sent, ten times a second."""

import socket
import sys
import threading
import time

PIECES_A_SECOND = 10


def collect(connection: socket.socket) -> None:
    """Read until the other side has gone."""
    left = 0
    while True:
        left = left or int(sys.argv[2]) // PIECES_A_SECOND
        piece = connection.recv(left)
        if not piece:
            return
        left -= len(piece)
        if not left:
            time.sleep(1 / PIECES_A_SECOND)


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
while True:
    threading.Thread(target=collect, args=(listener.accept()[0],), daemon=True).start()
