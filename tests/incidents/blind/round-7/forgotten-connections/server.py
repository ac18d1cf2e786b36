"""A database behind a firewall that forgets connections in which nothing has come for a while, and drops their packets.

server.py SECONDS: after which the firewall forgets one
"""

import os
import select
import socket
import subprocess
import sys
import time

RULE = "tc filter add dev eth0 ingress protocol ip u32 match ip protocol 6 0xff match ip sport {} 0xffff action drop"
patience = float(sys.argv[1])
listener = socket.create_server(("10.83.0.2", 5432))
print(os.getpid(), flush=True)
heard = {}
forgotten = []
while True:
    for ready in select.select([listener, *heard], [], [], 0.05)[0]:
        if ready is listener:
            connection, _ = listener.accept()
            heard[connection] = time.monotonic()
        elif ready.recv(512):
            ready.sendall(b"1")
            heard[ready] = time.monotonic()
        else:
            del heard[ready]
    for connection, last in list(heard.items()):
        if time.monotonic() - last > patience:
            subprocess.run(RULE.format(connection.getpeername()[1]).split(), check=True)
            forgotten.append(connection)
            del heard[connection]
