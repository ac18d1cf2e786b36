"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH [HEADER]    by a new connection; {n} in the path is a number that goes up
  kept PATH [HEADER]    over a connection for each worker
  pg USER STATEMENT     over a connection for each worker; the same
  mariadb STATEMENT     over a connection for each worker; the same
  redis WORD...         one command of Redis, over a connection for each worker
"""

import itertools
import pathlib
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
    return lambda: connection.execute_command(*words)


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
