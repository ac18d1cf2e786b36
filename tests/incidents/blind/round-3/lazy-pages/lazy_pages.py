"""Fetches pages of a migrated process when it touches them: lazy_pages.py MS_OF_A_FETCH."""

import ctypes
import fcntl
import os
import socket
import sys
import time

COPY, FAULT, PAGE = 0xC028AA03, 0x12, 4096
page = ctypes.create_string_buffer(b"p" * PAGE, PAGE)
listener = socket.socket(socket.AF_UNIX)
listener.bind("lazy-pages.socket")
listener.listen()
print(os.getpid(), flush=True)
connection, _ = listener.accept()
_, fds, _, _ = socket.recv_fds(connection, 16, 1)
connection.send(b"x")
while message := os.read(fds[0], 32):
    if message[0] != FAULT:
        continue
    address = int.from_bytes(message[16:24], "little") & -PAGE
    time.sleep(int(sys.argv[1]) / 1000)
    words = [address, ctypes.addressof(page), PAGE, 0, 0]
    fcntl.ioctl(fds[0], COPY, b"".join(word.to_bytes(8, "little") for word in words))
