"""Answers each line with another."""

import os
import selectors
import socket

listener = socket.create_server(("10.99.0.2", 8080), backlog=256)
poll = selectors.DefaultSelector()
poll.register(listener, selectors.EVENT_READ)
print(os.getpid(), flush=True)
while True:
    for key, _ in poll.select():
        if key.fileobj is listener:
            poll.register(listener.accept()[0], selectors.EVENT_READ)
            continue
        try:
            asked = key.fileobj.recv(4096)
            if asked:
                key.fileobj.sendall(b"yes\n")
        except OSError:
            asked = b""
        if not asked:
            poll.unregister(key.fileobj)
            key.fileobj.close()
