"""Makes /dev/nbd0 of a connection, and serves it until it is disconnected."""

import fcntl
import os
import socket

SET_SOCK, SET_BLKSIZE, DO_IT, SET_SIZE_BLOCKS = 0xAB00, 0xAB01, 0xAB03, 0xAB07
connection = socket.create_connection(("10.68.0.2", 10809))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
device = os.open("/dev/nbd0", os.O_RDWR)
fcntl.ioctl(device, SET_BLKSIZE, 4096)
fcntl.ioctl(device, SET_SIZE_BLOCKS, 4096)
fcntl.ioctl(device, SET_SOCK, connection.fileno())
print(os.getpid(), flush=True)
fcntl.ioctl(device, DO_IT)
