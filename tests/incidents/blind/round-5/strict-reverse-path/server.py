"""Answers questions at both of its addresses."""

import os
import select
import socket

listeners = []
for address in ("10.61.0.2", "10.61.1.2"):
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((address, 5300))
    listeners.append(listener)
print(os.getpid(), flush=True)
while True:
    for ready in select.select(listeners, [], [])[0]:
        _, peer = ready.recvfrom(512)
        ready.sendto(b"10.0.0.1", peer)
