"""Asks a resolver for a name again and again until it is interrupted, whether it answers or not: PORT RATE."""

import itertools
import json
import signal
import socket
import struct
import sys
import time

port, rate = int(sys.argv[1]), float(sys.argv[2])
NAME = b"\x07backend\x07example\x03com\0"
counts = {"asked": 0, "answered": 0}


def end(*_: object) -> None:
    """Tell what was seen."""
    print(json.dumps(counts))
    sys.exit()


signal.signal(signal.SIGINT, end)
resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.connect(("127.0.0.1", port))
resolver.setblocking(False)
for number in itertools.count():
    resolver.send(struct.pack(">6H", number % 65536, 0x0100, 1, 0, 0, 0) + NAME + struct.pack(">2H", 1, 1))
    counts["asked"] += 1
    time.sleep(1 / rate)
    try:
        resolver.recv(512)
        counts["answered"] += 1
    except BlockingIOError:
        pass
