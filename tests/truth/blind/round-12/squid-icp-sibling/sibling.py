"""sibling.py PORT MS: a sibling of a cache that has nothing, and says so (ICP over UDP) after so many milliseconds."""

import heapq
import select
import socket
import struct
import sys
import time

MISS = 3
delay_s = float(sys.argv[2]) / 1000
web = socket.create_server(("127.0.0.2", 3128))  # whoever looks sees that the sibling is there
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("127.0.0.2", int(sys.argv[1])))
waiting = []
while True:
    patience = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    if select.select([line], [], [], patience)[0]:
        query, whom = line.recvfrom(9000)
        url = query[24:]
        answer = struct.pack("!BBH", MISS, 2, 20 + len(url)) + query[4:8] + bytes(12) + url
        heapq.heappush(waiting, (time.monotonic() + delay_s, answer, whom))
    while waiting and waiting[0][0] <= time.monotonic():
        _, answer, whom = heapq.heappop(waiting)
        line.sendto(answer, whom)
