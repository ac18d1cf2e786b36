"""PORT MILLISECONDS: answers after them."""

import socket
import sys
import threading
import time

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=100)


def serve(connection):
    connection.recv(1000)
    time.sleep(int(sys.argv[2]) / 1000)
    connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
    connection.close()


while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
