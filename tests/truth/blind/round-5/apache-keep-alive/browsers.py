"""PORT COUNT: browsers that fetch a page every 4 s or more, and keep the connection for as long as they may."""

import socket
import sys
import threading
import time

PORT, COUNT = int(sys.argv[1]), int(sys.argv[2])
REQUEST = b"GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n"


def browse():
    while True:
        begin = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", PORT), 60) as connection:
                connection.sendall(REQUEST)
                while connection.recv(4096):
                    pass
        except OSError:
            time.sleep(0.2)
            continue
        time.sleep(max(0, begin + 4 - time.monotonic()))


for _ in range(COUNT):
    threading.Thread(target=browse).start()
    time.sleep(0.3)
