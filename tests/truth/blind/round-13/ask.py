"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH [HEADER]    by a new connection; {n} in the path is a number that goes up
  kept PATH [HEADER]    over a connection for each worker
  far PATH              the same, of 10.9.0.2
  pg USER STATEMENT     over a connection for each worker; {n} as above
  mariadb STATEMENT     over a connection for each worker; the same
  redis WORD...         one command of Redis, over a connection for each worker; the same
  memcached KEY         get KEY1 to KEY2500, far from each other, over a connection for each worker
"""

import itertools
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load

number = itertools.count(1)


def numbered(text):
    return text.replace("{n}", str(next(number)))


def http(port, path, header=""):
    return lambda: load.http(port, numbered(path), fresh=True, headers=f"{header}\r\n" if header else "")()()


def kept(port, path, header=""):
    return load.http(port, path, headers=f"{header}\r\n" if header else "")()


def far(port, path):
    return load.http(port, path, host="10.9.0.2")()


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


def redis(port, *words):
    import redis

    connection = redis.Redis("127.0.0.1", port)
    return lambda: connection.execute_command(*map(numbered, words))


def memcached(port, key):
    connection = socket.create_connection(("127.0.0.1", port))
    answers = connection.makefile("rb")

    def get():
        place = next(number) * 797 % 2500 + 1
        connection.sendall(f"get {key}{place}\r\n".encode())
        head = answers.readline().split()
        if head[0] != b"VALUE":
            raise OSError(f"answer {head}")
        answers.read(int(head[3]) + 2)
        answers.readline()

    return get


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
