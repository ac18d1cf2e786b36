"""Lets an interface send packets as they are on a wire: ethtool -K INTERFACE tso off gso off."""

import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL, STSO, SGSO = 0x8946, 0x1F, 0x24
for command in (STSO, SGSO):
    value = array.array("B", struct.pack("II", command, 0))
    request = struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0])
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), SIOCETHTOOL, request)
