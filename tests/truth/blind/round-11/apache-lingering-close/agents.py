"""agents.py PORT COUNT close|keep: each asks for a page, again and again, and closes its connection at once or late."""

import socket
import sys
import threading
import time

PAUSE_S = 2.5


def agent(port, keep):
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 60) as connection:
                connection.sendall(b"GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n")
                connection.recv(10000)
                if keep:
                    time.sleep(PAUSE_S)
            if not keep:
                time.sleep(PAUSE_S)
        except OSError:
            time.sleep(0.1)


for _ in range(int(sys.argv[2])):
    threading.Thread(target=agent, args=(int(sys.argv[1]), sys.argv[3] == "keep")).start()
