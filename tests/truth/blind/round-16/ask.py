"""Asks at a constant rate, an open loop, in bursts where wanted, and notes what each question took in requests.log.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH                 by a new connection
  kept PATH                 over a connection for each worker; {n} in it is a number that goes up, {n%60} below 60
  pg USER STATEMENT         over a connection for each worker; {n} as above
  mariadb STATEMENT         over a connection for each worker; {n} as above
  bind DN PASSWORD          a login at a directory, over a connection for each worker; {n} as above
  tls FOLDER                a handshake with the certificate of a client, and a GET
  names COUNT               the addresses of so many names, in turn, by UDP
  redis COMMAND...          commands that are split at spaces, in turn, over a connection for each worker; {n} as above
  clone PATH                what git sends to somebody who has nothing yet
"""

from __future__ import annotations

import itertools
import queue
import re
import signal
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable

stop = threading.Event()
number = itertools.count(1)


def numbered(text: str) -> str:
    """Put a number that goes up where {n} stands, or what is left of it after a division by 60 where {n%60} does."""
    turn = next(number)
    return re.sub(r"\{n(?:%(\d+))?\}", lambda found: str(turn % int(found[1]) if found[1] else turn), text)


def whole_answer(answers) -> None:
    status = answers.readline()
    assert b" 200 " in status, status
    length = 0
    while (line := answers.readline()) not in (b"\r\n", b""):
        name, _, value = line.lower().partition(b":")
        length = int(value) if name == b"content-length" else length
    assert len(answers.read(length)) == length


def http(port: int, path: str) -> Callable[[], None]:
    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            whole_answer(answers)

    return ask


def kept(port: int, path: str) -> Callable[[], None]:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    answers = connection.makefile("rb")

    def ask() -> None:
        connection.sendall(f"GET {numbered(path)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        whole_answer(answers)

    return ask


def pg(port: int, user: str, statement: str) -> Callable[[], None]:
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user=user, dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(numbered(statement))


def mariadb(port: int, statement: str) -> Callable[[], None]:
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    return lambda: cursor.execute(numbered(statement))


def bind(port: int, name: str, password: str) -> Callable[[], None]:
    import ldap3

    connection = ldap3.Connection(ldap3.Server("127.0.0.1", port=port, get_info=ldap3.NONE), auto_bind=True)

    def ask() -> None:
        assert connection.rebind(numbered(name), password), connection.result

    return ask


def tls(port: int, folder: str) -> Callable[[], None]:
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    context.load_cert_chain(f"{folder}/client.pem", f"{folder}/client.key")
    context.check_hostname = False

    def ask() -> None:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain) as connection,
            connection.makefile("rb") as answers,
        ):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            whole_answer(answers)

    return ask


def names(port: int, count: str) -> Callable[[], None]:
    connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connection.connect(("127.0.0.1", port))
    connection.settimeout(5)

    def ask() -> None:
        turn = next(number)
        name = f"service-{turn % int(count)}"
        question = b"".join(bytes([len(part)]) + part.encode() for part in (name, "example", "org")) + b"\0"
        connection.send(struct.pack(">6H", turn & 0xFFFF, 0x100, 1, 0, 0, 0) + question + struct.pack(">2H", 1, 1))
        answer = connection.recv(4096)
        assert answer[:2] == struct.pack(">H", turn & 0xFFFF)
        assert answer[6:8] == b"\0\1", "no address"

    return ask


def redis(port: int, *commands: str) -> Callable[[], None]:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    answers = connection.makefile("rb")

    def ask() -> None:
        turn = next(number)
        for command in commands:
            words = command.replace("{n}", str(turn)).split()
            text = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            connection.sendall(text.encode())
            answer = answers.readline()
            assert answer[:1] in b"+:", answer

    return ask


def clone(port: int, path: str) -> Callable[[], None]:
    def line(text: str) -> bytes:
        return f"{len(text) + 4:04x}{text}".encode()

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answers:
            connection.sendall(line(f"git-upload-pack {path}\0host=127.0.0.1\0"))
            head = b""
            while size := int(answers.read(4), 16):
                part = answers.read(size - 4)
                head = head or part[:40]
            connection.sendall(line(f"want {head.decode()} ofs-delta\n") + b"0000" + line("done\n"))
            answers.readline()
            total = 0
            while part := answers.read(1 << 16):
                total += len(part)
            assert total > 1000, total

    return ask


def run(client: Callable[[], Callable[[], None]], milliseconds: int, rate: float, workers: int, burst: int) -> None:
    noted: list[tuple[int, int, int]] = []
    failures: queue.SimpleQueue[str] = queue.SimpleQueue()
    turns = itertools.count()
    begin_ns = time.time_ns() + 200_000_000

    def work(ask: Callable[[], None]) -> None:
        while not stop.is_set():
            due_ns = begin_ns + int(next(turns) // burst * burst * 1e9 / rate)
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

    threads = [threading.Thread(target=work, args=(client(),)) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open("requests.log", "w") as log:
        log.writelines(f"{due} {waited} {served}\n" for due, waited, served in sorted(noted))
    while not failures.empty():
        sys.exit(failures.get())


def main(kind: str, port: str, milliseconds: str, rate: str, workers: str, burst: str, *what: str) -> None:
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    client = globals()[kind]
    run(lambda: client(int(port), *what), int(milliseconds), float(rate), int(workers), int(burst))


main(*sys.argv[1:])
