"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH             by a new connection; {n} in it is a number that goes up
  kept PATH             over a connection for each worker; the same
  pg STATEMENT          over a connection for each worker
  stored MS             a value of Redis is set, and a replica waited for so long, over a connection for each worker
  line FILE FOLDER      appended to a file, as long as a line of a log; the answer comes to a socket in the folder
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


def http(port, path):
    return lambda: load.http(port, numbered(path), fresh=True)()()


def kept(port, path):
    return load.http(port, numbered(path))()


def pg(port, statement):
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(statement)


def stored(port, milliseconds):
    import redis

    connection = redis.Redis("127.0.0.1", port)

    def ask():
        connection.set("order", next(number))
        connection.execute_command("WAIT", 1, milliseconds)

    return ask


def line(_, file, folder):
    path = f"{folder}/client-{next(number)}"
    answers = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    answers.bind(path)

    def ask():
        with open(file, "a") as log:
            log.write(f"{path} {'order of a customer'.ljust(200 - len(path))}\n")
        answers.recv(100)

    return ask


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
