"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH                 by a new connection
  kept PATH [HEADER]        over a connection for each worker, with a header; {n} in it is a number that goes up
  pg USER STATEMENT         over a connection for each worker; {n} as above
  mariadb STATEMENT         over a connection for each worker; {n} as above
  member DN VALUE           whether a group of a directory has a member
  refs PATH                 what references a repository has, by git
  line TEXT                 a line is sent, and one comes back, over a connection for each worker
  put KEY BYTES             a value is set in Redis, over a connection for each worker
"""

import itertools
import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load

number = itertools.count(1)


def numbered(text):
    return text.replace("{n}", str(next(number)))


def http(port, path):
    return load.http(port, path, fresh=True)()


def kept(port, path, header=""):
    if "{n}" not in header:
        return load.http(port, path, headers=f"{header}\r\n" if header else "")()
    connection = socket.create_connection(("127.0.0.1", port))
    answers = connection.makefile("rb")

    def ask():
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{numbered(header)}\r\n\r\n".encode())
        assert b" 200 " in answers.readline()
        length = 0
        while (line := answers.readline()) not in (b"\r\n", b""):
            name, _, value = line.lower().partition(b":")
            length = int(value) if name == b"content-length" else length
        answers.read(length)

    return ask


def pg(port, user, statement):
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user=user, dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(numbered(statement))


def mariadb(port, statement):
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    return lambda: cursor.execute(numbered(statement))


def member(port, group, value):
    import ldap3

    connection = ldap3.Connection(ldap3.Server("127.0.0.1", port=port, get_info=ldap3.NONE), auto_bind=True)

    def ask():
        assert connection.compare(group, "member", value)

    return ask


def refs(port, path):
    command = ["git", "ls-remote", "--heads", f"git://127.0.0.1:{port}{path}"]
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def line(port, text):
    connection = socket.create_connection(("127.0.0.1", port))
    answers = connection.makefile("rb")

    def ask():
        connection.sendall(f"{text}\n".encode())
        assert answers.readline()

    return ask


def put(port, key, size):
    connection = socket.create_connection(("127.0.0.1", port))
    answers = connection.makefile("rb")
    value = "v" * int(size)
    command = f"*3\r\n$3\r\nSET\r\n${len(key)}\r\n{key}\r\n${size}\r\n{value}\r\n".encode()

    def ask():
        connection.sendall(command)
        assert answers.readline() == b"+OK\r\n"

    return ask


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
