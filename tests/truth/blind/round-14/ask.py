"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH             by a new connection; {n} in the path is a number that goes up
  kept PATH             over a connection for each worker; {n} as above
  pg USER STATEMENT     over a connection for each worker; {n} as above
  job USER STATEMENT MS takes a job by a statement, works on it for so long and deletes it, in one transaction
  mariadb STATEMENT     over a connection for each worker; {n} as above
"""

import itertools
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load

number = itertools.count(1)


def numbered(text):
    return text.replace("{n}", str(next(number)))


def http(port, path):
    return lambda: load.http(port, numbered(path), fresh=True)()()


def kept(port, path):
    return load.http(port, path)()


def connected(port, user):
    import psycopg2

    return psycopg2.connect(host="127.0.0.1", port=port, user=user, dbname="postgres")


def pg(port, user, statement):
    connection = connected(port, user)
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(numbered(statement))


def job(port, user, statement, milliseconds):
    connection = connected(port, user)
    cursor = connection.cursor()

    def work():
        cursor.execute(statement)
        (taken,) = cursor.fetchone()
        time.sleep(float(milliseconds) / 1000)
        cursor.execute("DELETE FROM jobs WHERE id = %s", (taken,))
        connection.commit()

    return work


def mariadb(port, statement):
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    return lambda: cursor.execute(numbered(statement))


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
