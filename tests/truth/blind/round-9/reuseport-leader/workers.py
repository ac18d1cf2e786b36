"""PORT FLAGS one|own: three workers with one listening socket, or one of their own each; the first fetches flags."""

import os
import select
import signal
import socket
import sys
import time
import urllib.request

port, flags = int(sys.argv[1]), f"http://127.0.0.1:{sys.argv[2]}/"


def listen():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    listener.setblocking(False)
    return listener


def answer(listener):
    try:
        connection, _ = listener.accept()
    except BlockingIOError:  # another worker was faster
        return
    connection.setblocking(True)
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\ndone\n")
    connection.close()


def work(listener, leads):
    fetch_at = time.monotonic() + 0.35
    while True:
        if leads and time.monotonic() >= fetch_at:
            urllib.request.urlopen(flags).read()
            fetch_at = time.monotonic() + 0.35
        if select.select([listener], [], [], max(0, fetch_at - time.monotonic()) if leads else None)[0]:
            answer(listener)


shared = listen() if sys.argv[3] == "one" else None
children = []
for number in range(3):
    child = os.fork()
    if not child:
        work(shared or listen(), number == 0)
    children.append(child)
signal.signal(signal.SIGTERM, lambda *_: [os.kill(child, signal.SIGTERM) for child in children] and sys.exit())
if shared:
    shared.close()
os.wait()
