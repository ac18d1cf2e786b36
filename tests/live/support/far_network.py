"""python3 far_network.py MS: a network with one host, 10.9.0.2, which is 10.9.0.1 once more, MS milliseconds away."""

from __future__ import annotations

import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x1, 0x1000


def swapped(packet: bytes) -> bytes:
    """Return a packet of IPv4 from its destination to its source."""
    return packet[:12] + packet[16:20] + packet[12:16] + packet[20:]


def main(delay_s: float) -> None:
    """Carry packets until the end."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"far", IFF_TUN | IFF_NO_PI))
    os.set_blocking(device, False)
    for command in ("ip address add 10.9.0.1/24 dev far", "ip link set far txqueuelen 10000 up", "ip link set lo up"):
        subprocess.run(command.split(), check=True)
    print("ready", flush=True)
    on_the_way: collections.deque[tuple[float, bytes]] = collections.deque()
    while True:
        wait = max(0.0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
        if select.select([device], [], [], wait)[0]:
            packet = os.read(device, 65536)
            if packet[0] >> 4 == 4:
                on_the_way.append((time.monotonic() + delay_s, swapped(packet)))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            os.write(device, on_the_way.popleft()[1])


if __name__ == "__main__":
    main(float(sys.argv[1]) / 1000)
