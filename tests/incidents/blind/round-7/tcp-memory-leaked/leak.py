"""A client that opens connections, asks for something with each, and reads none of the answers."""

import os
import socket
import sys
import time

held = []
for _ in range(int(sys.argv[1])):
    connection = socket.create_connection(("10.71.0.2", 8080))
    connection.sendall(b"1000000")
    held.append(connection)
time.sleep(3)
print(os.getpid(), flush=True)
time.sleep(1000)
