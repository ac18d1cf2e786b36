"""Serves its connections in one loop that waits for them, or looks whether there is something: poller.py PORT HOW."""

import selectors
import socket
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n"
TIMEOUT_S = {"waits": None, "looks": 0, "computes": 0}[sys.argv[2]]
selector = selectors.DefaultSelector()
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
selector.register(listener, selectors.EVENT_READ)
number = 0
while True:
    if sys.argv[2] == "computes":  # work that nobody waits for, in small parts
        number = sum(range(number % 7, 100_000))
    for key, _ in selector.select(TIMEOUT_S):
        if key.fileobj is listener:
            client, _ = listener.accept()
            selector.register(client, selectors.EVENT_READ)
        elif key.fileobj.recv(4096):
            key.fileobj.send(ANSWER)
        else:
            selector.unregister(key.fileobj)
            key.fileobj.close()
