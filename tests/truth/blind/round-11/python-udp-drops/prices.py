"""prices.py PORT BUFFER: tells prices by UDP, one after the other; by TCP it only listens. 0 is the default buffer."""

import socket
import sys
import time

port, buffer = map(int, sys.argv[1:])
listener = socket.create_server(("127.0.0.1", port))
service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if buffer:
    service.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)  # the kernel makes that the least there is
service.bind(("127.0.0.1", port))
while True:
    asked, client = service.recvfrom(100)
    end = time.perf_counter() + 0.0003
    while time.perf_counter() < end:
        pass
    service.sendto(asked, client)
