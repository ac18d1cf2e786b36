"""PORT COUNT MILLISECONDS: as many clients, each takes that long to send 20 kB, rests for half a second, comes back."""

import socket
import sys
import threading
import time


def phone(number):
    time.sleep(number * 0.3)
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30)
            connection.sendall(b"POST /photo HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n")
            for _ in range(20):
                connection.sendall(b"p" * 1000)
                time.sleep(int(sys.argv[3]) / 20000)
            connection.recv(1000)
            connection.close()
        except OSError:
            pass
        time.sleep(0.5)


for number in range(int(sys.argv[2])):
    threading.Thread(target=phone, args=(number,), daemon=True).start()
while True:
    time.sleep(1)
