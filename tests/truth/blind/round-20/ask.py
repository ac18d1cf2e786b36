"""Asks at a constant rate, an open loop, and notes what each question took in requests.log.

ask.py KIND PORT MS RATE WORKERS WHAT...
  fresh PATH                  by a new connection for each; {n} in it is a number that goes up, {n%300} one below 300
  redis COMMAND               which answers with a list, over a connection for each worker
  pg FOLDER STATEMENT         as postgres, over a connection for each worker; each part of it between ; on its own
  document FOLDER FILE        which PostgreSQL is to keep, as postgres, over a connection for each worker
  mariadb FIRST STATEMENT     as pg, over a connection that begins with FIRST
"""

from __future__ import annotations

import io
import itertools
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


def connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def whole_answer(answers: BinaryIO) -> None:
    status = answers.readline()
    assert b" 200 " in status, status
    length = 0
    while (line := answers.readline()) not in (b"\r\n", b""):
        name, _, value = line.lower().partition(b":")
        length = int(value) if name == b"content-length" else length
    assert length and len(answers.read(length)) == length, length


def fresh(port: int, path: str) -> Callable[[], None]:
    def ask() -> None:
        with connected(port) as connection, connection.makefile("rb") as answers:
            connection.sendall(f"GET {numbered(path)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            whole_answer(answers)

    return ask


def redis(port: int, command: str) -> Callable[[], None]:
    connection = connected(port)
    answers = connection.makefile("rb")
    words = command.split()

    def ask() -> None:
        connection.sendall(
            f"*{len(words)}\r\n".encode() + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)
        )
        line = answers.readline()
        assert line[:1] == b"*" and int(line[1:]) > 0, line
        for _ in range(int(line[1:])):
            answers.read(int(answers.readline()[1:]) + 2)

    return ask


def pg(port: int, folder: str, statement: str) -> Callable[[], None]:
    import psycopg2

    connection = psycopg2.connect(host=folder, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()

    def ask() -> None:
        for each in numbered(statement).split(";"):
            cursor.execute(each)

    return ask


def document(port: int, folder: str, path: str) -> Callable[[], None]:
    import psycopg2

    connection = psycopg2.connect(host=folder, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    with open(path) as file:
        text = file.read()

    def ask() -> None:
        body = io.StringIO(f'{{"n": {next(number)}, {text}')
        cursor.copy_expert("COPY documents (body) FROM STDIN", body)

    return ask


def mariadb(port: int, first: str, statement: str) -> Callable[[], None]:
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    if first:
        cursor.execute(first)

    def ask() -> None:
        for each in numbered(statement).split(";"):
            cursor.execute(each)

    return ask


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
