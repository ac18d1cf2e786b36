"""As nscd answers to the C library: the owner of a number, whom a directory server knows."""

import os
import socket
import struct

BY_NUMBER, VERSION = 1, 2
directory = socket.create_connection(("10.95.0.2", 389))
directory.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def answer(number):
    directory.sendall(b"uid=%d\n" % number)
    name = directory.recv(256).strip()
    texts = [name, b"x", b"", b"/home", b"/bin/sh"]
    sizes = [len(text) + 1 for text in texts]
    head = struct.pack("iiiiIIiii", VERSION, 1, sizes[0], sizes[1], number, 100, *sizes[2:])
    return head + b"".join(text + b"\0" for text in texts)


listener = socket.socket(socket.AF_UNIX)
listener.bind("/run/nscd/socket")
listener.listen(100)
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        query = connection.recv(1024)
        if len(query) < 12 or struct.unpack("iii", query[:12])[1] != BY_NUMBER:
            continue  # nothing that could be shared
        connection.sendall(answer(int(query[12:].rstrip(b"\0"))))
