"""browsers.py PORT COUNT: browsers ask for a page, keep the connection until the server closes it, and come again."""

import socket
import sys
import threading
import time


def browse(port: int) -> None:
    while True:
        time.sleep(0.3)
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                while connection.recv(4096):
                    pass
        except OSError:
            pass


for _ in range(int(sys.argv[2])):
    threading.Thread(target=browse, args=(int(sys.argv[1]),)).start()
    time.sleep(0.1)
