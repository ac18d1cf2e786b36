"""SECONDS: a resolver on port 53 that answers each question for a name, or the name of an address, so much later."""

import socket
import sys
import threading

LATER = float(sys.argv[1])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))


def answer(question, asker):
    end = question.index(b"\0", 12) + 5
    records = {
        12: b"\x06client\x07example\x03com\x00",
        1: bytes([127, 0, 0, 1]),
    }
    kind = int.from_bytes(question[end - 4 : end - 2], "big")
    data = records.get(kind)
    head = question[:2] + b"\x81\x80\0\1" + (b"\0\1" if data else b"\0\0") + bytes(4)
    record = b"\xc0\x0c" + question[end - 4 : end] + b"\0\0\0\x3c" + len(data or b"").to_bytes(2, "big")
    server.sendto(head + question[12:end] + (record + data if data else b""), asker)


while True:
    threading.Timer(LATER, answer, server.recvfrom(512)).start()
