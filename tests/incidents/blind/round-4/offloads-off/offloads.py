"""ethtool -K INTERFACE tx 0|1 gso 0|1, which is not installed here."""

import array
import fcntl
import socket
import struct
import sys

ETHTOOL, SET_CHECKSUM, SET_GSO = 0x8946, 0x17, 0x24
name, on = sys.argv[1], int(sys.argv[2])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    for command in (SET_CHECKSUM, SET_GSO):
        value = array.array("B", struct.pack("II", command, on))
        fcntl.ioctl(any_socket, ETHTOOL, struct.pack("16sP", name.encode(), value.buffer_info()[0]) + bytes(16))
