"""Asks a database at a constant rate, late or not, until it is interrupted; notes what each question took.

    ask.py redis PORT CLIENTS RATE WORD...      one command of Redis
    ask.py mariadb PORT CLIENTS RATE STATEMENT  one statement; "{row}" in it is the number of a row

Writes requests.log as `requests --log` does.
"""

from __future__ import annotations

import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

Noted = tuple[int, int, int]  # due (ns since 1970), taken from then on, taken since it was sent
ROWS = 1000
stop = threading.Event()


def redis(port: int, words: list[str]) -> Callable[[], None]:
    """Return what sends a command and waits for an answer of one line or value, or of an empty list."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    command = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)

    def ask() -> None:
        connection.sendall(command.encode())
        answer = b""
        while not answer.endswith(b"\r\n"):
            answer += connection.recv(1 << 16)
        if answer.startswith(b"-"):
            sys.exit(answer.decode())

    return ask


def mariadb(port: int, statement: list[str]) -> Callable[[], None]:
    """Return what runs a statement, each in a transaction of its own, in a session of its own."""
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    return lambda: cursor.execute(statement[0].format(row=random.randrange(ROWS)))


def client(ask: Callable[[], None], noted: list[Noted], gap_ns: int, first_ns: int) -> None:
    """Ask whenever it is due, or as soon as there is an answer."""
    due_ns = time.time_ns() + first_ns
    while not stop.wait(max(0, due_ns - time.time_ns()) / 1e9):
        begun_ns = time.time_ns()
        ask()
        ended_ns = time.time_ns()
        noted.append((due_ns, ended_ns - due_ns, ended_ns - begun_ns))
        due_ns += gap_ns


def main(kind: str, port: str, clients: str, rate: str, *words: str) -> None:
    """Let so many clients ask so often a second, all together."""
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    connect = {"redis": redis, "mariadb": mariadb}[kind]
    noted: list[Noted] = []
    gap_ns = round(int(clients) * 1e9 / float(rate))
    threads = [
        threading.Thread(
            target=client, args=(connect(int(port), list(words)), noted, gap_ns, gap_ns * index // int(clients))
        )
        for index in range(int(clients))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open("requests.log", "w") as log:
        log.writelines(f"{due_ns} {ns} {service_ns}\n" for due_ns, ns, service_ns in sorted(noted))


main(*sys.argv[1:])
