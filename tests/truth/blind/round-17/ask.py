"""Asks at a constant rate, an open loop, and notes what each question took in requests.log.

ask.py KIND PORT MS RATE WORKERS WHAT...
  kept PATH                   over a connection for each worker; {n} in it is a number that goes up
  fresh PATH                  by a new connection for each
  pg FOLDER FIRST STATEMENT   as postgres, over a connection for each worker, which begins with FIRST
  mariadb STATEMENT           over a connection for each worker; {n%300} is a number below 300
  append USER                 a mail into the INBOX, over a connection for each worker
  modules ADDRESS             what a server of rsync has, by a new connection from ADDRESS
  munin PLUGIN                the values of a plugin, over a connection for each worker
"""

from __future__ import annotations

import itertools
import queue
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

stop = threading.Event()
number = itertools.count(1)


def numbered(text: str) -> str:
    """Put a number that goes up where {n} stands, or what is left of it after a division where {n%...} does."""
    turn = next(number)
    return re.sub(r"\{n(?:%(\d+))?\}", lambda found: str(turn % int(found[1]) if found[1] else turn), text)


def connected(port: int, source: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), source_address=(source, 0) if source else None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def whole_answer(answers) -> None:
    status = answers.readline()
    assert b" 200 " in status, status
    length = 0
    while (line := answers.readline()) not in (b"\r\n", b""):
        name, _, value = line.lower().partition(b":")
        length = int(value) if name == b"content-length" else length
    assert length and len(answers.read(length)) == length, length


def kept(port: int, path: str) -> Callable[[], None]:
    connection = connected(port)
    answers = connection.makefile("rb")

    def ask() -> None:
        connection.sendall(f"GET {numbered(path)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        whole_answer(answers)

    return ask


def fresh(port: int, path: str) -> Callable[[], None]:
    def ask() -> None:
        with connected(port) as connection, connection.makefile("rb") as answers:
            connection.sendall(f"GET {numbered(path)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            whole_answer(answers)

    return ask


def pg(port: int, folder: str, first: str, statement: str) -> Callable[[], None]:
    import psycopg2

    connection = psycopg2.connect(host=folder, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    for each in first.split(";"):
        cursor.execute(each)
    return lambda: cursor.execute(numbered(statement))


def mariadb(port: int, statement: str) -> Callable[[], None]:
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    return lambda: cursor.execute(numbered(statement))


def told(answers, word: bytes) -> None:
    while not (line := answers.readline()).startswith(word + b" "):
        assert line, "no answer"
    assert line.startswith(word + b" OK"), line


def append(port: int, user: str) -> Callable[[], None]:
    connection = connected(port)
    answers = connection.makefile("rb")
    answers.readline()
    connection.sendall(f"a LOGIN {user} secret\r\n".encode())
    told(answers, b"a")
    mail = b"From: a@example.org\r\nSubject: sent\r\n\r\nA copy of what has been sent.\r\n"

    def ask() -> None:
        connection.sendall(b"b APPEND INBOX {%d}\r\n" % len(mail))
        answers.readline()
        connection.sendall(mail + b"\r\n")
        told(answers, b"b")

    return ask


def modules(port: int, address: str) -> Callable[[], None]:
    def ask() -> None:
        with connected(port, address) as connection, connection.makefile("rb") as answers:
            connection.sendall(b"@RSYNCD: 31.0\n#list\n")
            assert b"@RSYNCD: EXIT" in answers.read()

    return ask


def munin(port: int, plugin: str) -> Callable[[], None]:
    connection = connected(port)
    answers = connection.makefile("rb")
    answers.readline()

    def ask() -> None:
        connection.sendall(f"fetch {plugin}\n".encode())
        lines = iter(answers.readline, b".\n")
        assert all(b".value" in line for line in lines)

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
