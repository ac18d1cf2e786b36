"""Sends bursts of 60 short datagrams each, as many as it can."""

import socket

SOL_UDP, UDP_SEGMENT = 17, 103
feed = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
feed.setsockopt(SOL_UDP, UDP_SEGMENT, 64)
feed.connect(("239.1.1.1", 5000))
while True:
    try:
        feed.send(b"x" * 64 * 60)
    except OSError:
        continue
