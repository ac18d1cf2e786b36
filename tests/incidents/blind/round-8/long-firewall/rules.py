"""Puts as many rules as asked for into INPUT of the filter table, as `iptables -A INPUT -s ADDRESS -j DROP` does."""

import ctypes
import socket
import struct
import sys

REPLACE, INFO = 64, 64
HOOKS = 1 << 1 | 1 << 2 | 1 << 3  # LOCAL_IN, FORWARD, LOCAL_OUT
DROP, ACCEPT = -1, -2


def entry(source, verdict):
    """A rule: struct ipt_entry, and the standard target."""
    mask = 0xFFFFFFFF if source else 0
    match = struct.pack("!4I", source, 0, mask, 0) + bytes(64) + struct.pack("HBB", 0, 0, 0)
    return match + struct.pack("=IHHIQQ", 0, 112, 152, 0, 0, 0) + struct.pack("H29sBi4x", 40, b"", 0, verdict)


def error():
    """The entry that ends the table."""
    match = bytes(84) + struct.pack("=IHHIQQ", 0, 112, 176, 0, 0, 0)
    return match + struct.pack("H29sB30s2x", 64, b"ERROR", 0, b"ERROR")


count = int(sys.argv[1])
rules = b"".join(entry(0x2D000001 + 7 * number, DROP) for number in range(count))
chains = [rules + entry(0, ACCEPT), entry(0, ACCEPT), entry(0, ACCEPT)]
starts = [0, len(chains[0]), len(chains[0]) + 152]
policies = [len(rules), *starts[1:]]
table = b"".join(chains) + error()
sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
info = ctypes.create_string_buffer(struct.pack("32s13I", b"filter", *[0] * 13))
size = ctypes.c_uint(84)
assert ctypes.CDLL(None).getsockopt(sock.fileno(), socket.IPPROTO_IP, INFO, info, ctypes.byref(size)) == 0
old = struct.unpack("32s13I", info.raw[:84])[-2]
counters = ctypes.create_string_buffer(16 * old)
head = struct.pack("32sIII", b"filter", HOOKS, count + 4, len(table))
head += struct.pack("5I5I", 0, *starts, 0, 0, *policies, 0) + struct.pack("=IQ", old, ctypes.addressof(counters))
sock.setsockopt(socket.IPPROTO_IP, REPLACE, head + table)
