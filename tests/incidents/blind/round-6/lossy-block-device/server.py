"""Serves a volume of zeros to one client, as network block devices are."""

import os
import socket
import struct

listener = socket.create_server(("10.68.0.2", 10809))
print(os.getpid(), flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
stream = connection.makefile("rb")
while request := stream.read(28):
    _, kind, handle, _, length = struct.unpack(">IIQQI", request)
    if kind == 2:
        break
    connection.sendall(struct.pack(">IIQ", 0x67446698, 0, handle) + bytes(length if kind == 0 else 0))
