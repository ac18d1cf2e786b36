"""Opens connections and keeps them, as a pool without an idle timeout."""

import os
import signal
import socket

pool = []
for _ in range(120):
    connection = socket.create_connection(("10.99.0.2", 8080))
    connection.sendall(b"hello\n")
    connection.recv(16)
    pool.append(connection)
print(os.getpid(), flush=True)
signal.pause()
