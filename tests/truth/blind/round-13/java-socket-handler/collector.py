"""collector.py PORT MS: takes log lines, 16 KB at a time with so many milliseconds between."""

import socket
import sys
import time

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
listener.bind(("0.0.0.0", int(sys.argv[1])))
listener.listen(8)
pause_s = float(sys.argv[2]) / 1000
while True:
    line, _ = listener.accept()
    while line.recv(16384):
        time.sleep(pause_s)
