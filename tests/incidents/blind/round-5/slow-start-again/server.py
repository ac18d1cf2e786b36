"""Takes snapshots over any number of connections, and says of each that it has come."""

import os
import socket
import threading

SIZE = 1000000


def take(connection):
    """All that come over a connection."""
    with connection:
        while True:
            left = SIZE
            while left:
                data = connection.recv(min(left, 1 << 20))
                if not data:
                    return
                left -= len(data)
            connection.sendall(b"!")


listener = socket.create_server(("10.62.0.2", 9000))
print(os.getpid(), flush=True)
while True:
    threading.Thread(target=take, args=(listener.accept()[0],), daemon=True).start()
