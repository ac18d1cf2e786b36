"""Asks at a constant rate, an open loop, and notes what each question took in requests.log.

ask.py KIND PORT MS RATE WORKERS WHAT...
  page PATH                   over a connection of HTTP for each worker
  pg FOLDER STATEMENT         as postgres, over a connection for each worker; each part of it between ; on its own
  post PATH FILE              what is in the file, as JSON, over a connection of HTTP for each worker
  imap                        a login, by a new connection for each
  git VERSION                 where a branch is, of a daemon of git, in a version of its protocol
"""

from __future__ import annotations

import http.client
import imaplib
import itertools
import pathlib
import queue
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

stop = threading.Event()
number = itertools.count(1)


def numbered(text: str) -> str:
    """Put a number that goes up where {n} stands, or what is left of it after a division where {n%...} does."""
    turn = next(number)
    return re.sub(r"\{n(?:%(\d+))?\}", lambda found: str(turn % int(found[1]) if found[1] else turn), text)


def pg(port: int, folder: str, statement: str) -> Callable[[], None]:
    import psycopg2

    connection = psycopg2.connect(host=folder, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()

    def ask() -> None:
        for each in numbered(statement).split(";"):
            cursor.execute(each)

    return ask


def page(port: int, path: str) -> Callable[[], None]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask() -> None:
        connection.request("GET", numbered(path))
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read(), answer.status

    return ask


def post(port: int, path: str, name: str) -> Callable[[], None]:
    body = pathlib.Path(name).read_bytes()
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask() -> None:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read(), answer.status

    return ask


def imap(port: int) -> Callable[[], None]:
    def ask() -> None:
        client = imaplib.IMAP4("127.0.0.1", port)
        client.login("ann", "secret")
        client.logout()

    return ask


def packets(*lines: bytes) -> bytes:
    return b"".join(b"%04x" % (len(line) + 4) + line for line in lines)


def git(port: int, version: str) -> Callable[[], None]:
    begin = b"git-upload-pack /shop.git\0host=127.0.0.1\0" + (b"\0version=2\0" if version == "2" else b"")
    wanted = packets(b"command=ls-refs") + b"0001" + packets(b"ref-prefix refs/heads/main\n") + b"0000"

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answer:
            connection.sendall(packets(begin))
            found = listed(answer)
            if version == "2":
                connection.sendall(wanted)
                found = listed(answer)
            assert found, "no refs/heads/main"
            connection.sendall(b"0000")

    return ask


def listed(answer: BinaryIO) -> bool:
    """Read lines to their end, and say whether the branch was there."""
    found = False
    while size := int(answer.read(4), 16):
        found |= b" refs/heads/main" in answer.read(size - 4)
    return found


def run(client: Callable[[], Callable[[], None]], milliseconds: int, rate: float, workers: int) -> None:
    noted: list[tuple[int, int, int]] = []
    failures: queue.SimpleQueue[str] = queue.SimpleQueue()
    turns = itertools.count()
    clients = [client() for _ in range(workers)]
    begin_ns = time.time_ns() + 200_000_000

    def work(ask: Callable[[], None]) -> None:
        while not stop.is_set():
            due_ns = begin_ns + int(next(turns) * 1e9 / rate)
            if due_ns > begin_ns + milliseconds * 1_000_000 or stop.wait(max(0, due_ns - time.time_ns()) / 1e9):
                return
            sent_ns = time.time_ns()
            try:
                ask()
            except Exception as error:
                failures.put(f"{type(error).__name__}: {error}")
                return
            ended_ns = time.time_ns()
            noted.append((due_ns, ended_ns - due_ns, ended_ns - sent_ns))

    threads = [threading.Thread(target=work, args=(ask,)) for ask in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open("requests.log", "w") as log:
        log.writelines(f"{due} {waited} {served}\n" for due, waited, served in sorted(noted))
    if not failures.empty():
        sys.exit(failures.get())


def main(kind: str, port: str, milliseconds: str, rate: str, workers: str, *what: str) -> None:
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    client = globals()[kind]
    run(lambda: client(int(port), *what), int(milliseconds), float(rate), int(workers))


main(*sys.argv[1:])
