"""PORT COUNT SECONDS: as many clients, each of which asks once, keeps its connection for so long and comes back."""

import random
import socket
import sys
import threading
import time


def client():
    time.sleep(random.random() * float(sys.argv[3]))
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
            connection.settimeout(10)
            connection.sendall(b"GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.recv(1000)
            time.sleep(float(sys.argv[3]) * (0.5 + random.random()))
            connection.close()
        except OSError:
            time.sleep(0.2)


for _ in range(int(sys.argv[2])):
    threading.Thread(target=client, daemon=True).start()
while True:
    time.sleep(1)
