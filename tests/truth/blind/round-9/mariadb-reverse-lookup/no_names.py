"""MS: a name server that answers every question after so many milliseconds: there is no such name."""

import socket
import sys
import threading
import time

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))


def answer(question, client):
    time.sleep(float(sys.argv[1]) / 1000)
    server.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], client)


while True:
    threading.Thread(target=answer, args=server.recvfrom(512), daemon=True).start()
