"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH             by a new connection; {n} in it is a number that goes up
  kept PATH             over a connection for each worker
  pg STATEMENT          over a connection for each worker
  redis WORD...         over a connection for each worker
  greeting              of a mail server, by a new connection
  line FILE FOLDER      appended to a file; the answer comes to a socket in the folder
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
    return load.http(port, path)()


def pg(port, statement):
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(numbered(statement))


def redis(port, *words):
    import redis as library

    connection = library.Redis("127.0.0.1", port)
    return lambda: connection.execute_command(*words)


def greeting(port):
    def ask():
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            if not connection.recv(100).startswith(b"220"):
                raise OSError("no greeting")
            connection.sendall(b"QUIT\r\n")

    return ask


def line(_, file, folder):
    path = f"{folder}/client-{next(number)}"
    answers = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    answers.bind(path)

    def ask():
        with open(file, "a") as log:
            log.write(f"{path}\n")
        answers.recv(100)

    return ask


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
