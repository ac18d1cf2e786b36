"""store PORT: takes backups; send PORT BITS: sends one over 24 connections, so many bits a second at most."""

import pathlib
import socket
import sys
import threading
import time

PORT, CONNECTIONS = int(sys.argv[2]), 24


def take(connection, _):
    with connection:
        while connection.recv(1 << 16):
            pass


def store():
    with socket.create_server(("127.0.0.1", PORT)) as server:
        pathlib.Path("storing").touch()
        while True:
            threading.Thread(target=take, args=server.accept()).start()


def send(bits_per_second):
    piece = bytes(10000)
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        while True:
            connection.sendall(piece)
            time.sleep(len(piece) * 8 * CONNECTIONS / bits_per_second)


if sys.argv[1] == "store":
    store()
for _ in range(CONNECTIONS):
    threading.Thread(target=send, args=(int(sys.argv[3]),)).start()
