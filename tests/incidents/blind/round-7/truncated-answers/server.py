"""A name server: for each name 40 addresses, which an answer by UDP has no room for, so that TCP is asked."""

import os
import socket
import struct
import threading

PLACES = ("10.85.0.2", 53), ("10.85.0.3", 53)


def answer(question, short):
    """Return an answer, or one that says that there is more."""
    end = question.index(b"\0", 12) + 5
    count = 0 if short else 40
    head = question[:2] + (b"\x83\x80" if short else b"\x81\x80") + struct.pack(">HHHH", 1, count, 0, 0)
    return (
        head
        + question[12:end]
        + b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\x55\1" + bytes([number]) for number in range(count))
    )


def by_udp(place):
    """Say that the answer is too long."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(place)
    while True:
        question, peer = listener.recvfrom(512)
        listener.sendto(answer(question, True), peer)


def by_tcp(listener):
    """Give all addresses."""
    while True:
        connection, _ = listener.accept()
        with connection:
            while length := connection.recv(2, socket.MSG_WAITALL):
                whole = answer(connection.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL), False)
                connection.sendall(struct.pack(">H", len(whole)) + whole)


for place in PLACES:
    threading.Thread(target=by_udp, args=(place,), daemon=True).start()
    threading.Thread(target=by_tcp, args=(socket.create_server(place),), daemon=True).start()
print(os.getpid(), flush=True)
threading.Event().wait()
