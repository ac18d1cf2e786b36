"""Asks at a constant rate, an open loop, and notes what each question took in requests.log.

ask.py KIND PORT MS RATE WORKERS WHAT...
  page PATH                   over a connection of HTTP for each worker, in pieces or not
  redis COMMAND               over a connection for each worker
  memcached COMMAND FIELDS    which is answered with so many values, over a connection for each worker
  pg FOLDER STATEMENT         as postgres, over a connection for each worker; each part of it between ; on its own
  mariadb FIRST STATEMENT     as pg, over a connection that begins with FIRST; a part "wait MS" is the client's own time
  greeted                     by a new connection to MariaDB for each, and a statement
"""

from __future__ import annotations

import http.client
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


def connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


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
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read(), answer.status

    return ask


def redis(port: int, command: str) -> Callable[[], None]:
    connection = connected(port)
    answers = connection.makefile("rb")

    def ask() -> None:
        connection.sendall(f"{numbered(command)}\r\n".encode())
        line = answers.readline()
        assert line[:1] in b"+:", line

    return ask


def memcached(port: int, command: str, fields: str) -> Callable[[], None]:
    connection = connected(port)
    answers = connection.makefile("rb")

    def ask() -> None:
        connection.sendall(re.sub(r"{n%\d+}", lambda found: numbered(found[0]), command).encode() + b"\r\n")
        values = 0
        while (line := answers.readline()) != b"END\r\n":
            assert line.startswith(b"VALUE"), line
            answers.read(int(line.split()[3]) + 2)
            values += 1
        assert values == int(fields), values

    return ask


def mariadb(port: int, first: str, statement: str) -> Callable[[], None]:
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    if first:
        cursor.execute(first)

    def ask() -> None:
        for each in numbered(statement).split(";"):
            if each.startswith("wait "):
                time.sleep(int(each[5:]) / 1000)
            else:
                cursor.execute(each)

    return ask


def greeted(port: int) -> Callable[[], None]:
    import pymysql

    def ask() -> None:
        connection = pymysql.connect(host="127.0.0.1", port=port, user="client", password="client", database="shop")
        connection.cursor().execute("SELECT 1")
        connection.close()

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
