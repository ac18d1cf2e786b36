"""MS: makes the interface "far", 10.9.0.1; whoever asks 10.9.0.2 gets to this host's servers, so long a way off."""

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque

DELAY_S = float(sys.argv[1]) / 1000
device = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", b"far", 0x1001))  # TUNSETIFF: IFF_TUN | IFF_NO_PI
subprocess.run("ip address add 10.9.0.1/24 dev far && ip link set far mtu 1500 up", shell=True, check=True)
on_the_way = deque()
while True:
    patience = max(0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
    if select.select([device], [], [], patience)[0]:
        packet = os.read(device, 2000)
        if packet[0] >> 4 == 4:
            on_the_way.append((time.monotonic() + DELAY_S, packet[:12] + packet[16:20] + packet[12:16] + packet[20:]))
    while on_the_way and on_the_way[0][0] <= time.monotonic():
        os.write(device, on_the_way.popleft()[1])
