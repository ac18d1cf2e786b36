"""Says every three seconds in the network who has the address: announce.py DELAY, of the first time."""

import fcntl
import socket
import struct
import sys
import time

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("eth0", 0x0806))
own = fcntl.ioctl(link, 0x8927, struct.pack("256s", b"eth0"))[18:24]
address = socket.inet_aton("10.84.0.100")
head = b"\xff" * 6 + own + b"\x08\x06"
time.sleep(float(sys.argv[1]))
while True:
    link.send(head + struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + own + address + bytes(6) + address)
    time.sleep(3)
