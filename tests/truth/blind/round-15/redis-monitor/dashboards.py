"""dashboards.py PORT COUNT: so many clients that look at all commands of a Redis, when it is there."""

import selectors
import socket
import sys
import time

ready = selectors.DefaultSelector()
for _ in range(int(sys.argv[2])):
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            break
        except OSError:
            time.sleep(0.1)
    connection.sendall(b"MONITOR\r\n")
    ready.register(connection, selectors.EVENT_READ)
while True:
    if not ready.get_map():
        time.sleep(1)
    else:
        for key, _ in ready.select():
            if not key.fileobj.recv(1 << 20):
                sys.exit()
