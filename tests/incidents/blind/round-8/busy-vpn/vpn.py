"""The VPN: carries packets between tun0 of this host and tun1 of the far one, and computes for each of them."""

import fcntl
import hashlib
import os
import select
import struct
import sys

TUNSETIFF, TUN, NO_PI = 0x400454CA, 1, 0x1000


def tunnel(name):
    """Make a tun device in the network namespace of this thread."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name, TUN | NO_PI))
    return device


rounds = int(sys.argv[1])
here = tunnel(b"tun0")
import ctypes  # noqa: E402

own = os.open("/proc/self/ns/net", os.O_RDONLY)
away = os.open("/run/netns/far", os.O_RDONLY)
ctypes.CDLL(None).setns(away, 0)
there = tunnel(b"tun1")
ctypes.CDLL(None).setns(own, 0)
print(os.getpid(), flush=True)
while True:
    for device in select.select([here, there], [], [])[0]:
        packet = os.read(device, 2048)
        hashlib.pbkdf2_hmac("sha1", packet, b"key", rounds)
        try:
            os.write(there if device == here else here, packet)
        except OSError:
            continue  # the other end is not up yet
