"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH [BODY]     by a new connection; with a body from this file, a POST; "{n}" in PATH is a digit
  kept PATH            over a connection for each worker
  mysql STATEMENT      over a connection for each worker
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load


def http(port, path, body=""):
    text = pathlib.Path(body).read_text(encoding="ascii") if body else None
    return lambda: load.http(port, path.replace("{n}", str(random.randrange(10))), fresh=True, body=text)()()


def kept(port, path):
    return load.http(port, path)()


def mysql(port, statement):
    import pymysql

    cursor = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, database="test").cursor()
    return lambda: cursor.execute(statement)


def main(kind, port, milliseconds, rate, workers, burst, *what):
    kinds = {"http": http, "kept": kept, "mysql": mysql}
    load.run(lambda: kinds[kind](int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
