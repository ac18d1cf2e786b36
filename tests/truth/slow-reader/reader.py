"""PORT RATE PAUSE_MS: clients, eight at a time, that ask so often a second and pause behind each 16 KiB they read."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time

CLIENTS, PIECE, RECEIVE_BUFFER = 8, 16 << 10, 16 << 10
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def ask(port: int, pause_s: float) -> None:
    """Ask once, on a connection of its own."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        client.connect(("127.0.0.1", port))
        client.sendall(REQUEST)
        while client.recv(PIECE):
            time.sleep(pause_s)


def client(port: int, each_s: float, pause_s: float) -> None:
    """Ask for ever, as often as that at most."""
    while True:
        due = time.monotonic() + each_s
        ask(port, pause_s)
        time.sleep(max(0.0, due - time.monotonic()))


def main() -> None:
    """Ask until interrupted."""
    port, rate, pause_ms = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    for _ in range(CLIENTS):
        threading.Thread(target=client, args=(port, CLIENTS / rate, pause_ms / 1000), daemon=True).start()
    signal.sigwait({signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    main()
