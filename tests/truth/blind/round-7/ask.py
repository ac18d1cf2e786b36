"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH          by a new connection; {n} in it is a number below 20,000
  kept PATH          over a connection for each worker
  mysql STATEMENT    over a connection for each worker; {n} is a number below 20,000
  pg STATEMENT       the same of PostgreSQL
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load


def numbered(text):
    return text.replace("{n}", str(random.randrange(20000)))


def http(port, path):
    return lambda: load.http(port, numbered(path), fresh=True, body=None)()()


def kept(port, path):
    return load.http(port, path)()


def mysql(port, statement):
    import pymysql

    cursor = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, database="test").cursor()
    return lambda: cursor.execute(numbered(statement))


def pg(port, statement):
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(numbered(statement))


def main(kind, port, milliseconds, rate, workers, burst, *what):
    kinds = {"http": http, "kept": kept, "mysql": mysql, "pg": pg}
    load.run(lambda: kinds[kind](int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
