"""Servers that are not told of what there is to do: only a timeout of their own makes them look."""

from __future__ import annotations

import select
import socket
import threading
import time

from live.support.served import OK

BODY_BYTES = 12_000


def handed_over_in_silence(listener: socket.socket, seconds: float) -> None:
    """One thread reads the requests of a connection, and wakes nobody: another looks for them from time to time."""
    jobs: list[socket.socket] = []
    never = threading.Condition()

    def works() -> None:
        while True:
            with never:
                never.wait(seconds)
            while jobs:
                jobs.pop().sendall(OK)

    threading.Thread(target=works, daemon=True).start()
    while True:
        connection, _ = listener.accept()
        while connection.recv(65536):
            jobs.append(connection)


def read_once_for_an_event(listener: socket.socket, seconds: float) -> None:
    """A loop reads 4 kB of a connection when it is told that there is more than before, and all there is from time to
    time; each request has a body of `BODY_BYTES`."""
    connection, _ = listener.accept()
    connection.setblocking(False)
    poller, at, read = select.epoll(), time.monotonic() + seconds, 0
    poller.register(connection, select.EPOLLIN | select.EPOLLET)
    while True:
        told = poller.poll(max(0.0, at - time.monotonic()))
        try:
            while data := connection.recv(4096):
                read += len(data)
                if told:
                    break
        except BlockingIOError:
            pass
        if not told:
            at = time.monotonic() + seconds
        if read > BODY_BYTES:
            connection.sendall(OK)
            read = 0


__all__ = ["handed_over_in_silence", "read_once_for_an_event"]
