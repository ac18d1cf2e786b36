"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH             by a new connection; {n} in it is a number that goes up
  kept PATH             over a connection for each worker
  post BYTES EVERY      over a connection for each worker; every so-manieth has so many bytes, the others have 200
  pg STATEMENT          over a connection for each worker
  mariadb FROM          a session for one statement, from an address
  mail                  a message of 2 kB
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


def stream(port):
    connection = socket.create_connection(("127.0.0.1", port), 60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection, connection.makefile("rb")


def http(port, path):
    return lambda: load.http(port, numbered(path), fresh=True)()()


def kept(port, path):
    return load.http(port, path)()


def post(port, size, every):
    large, small = (load.http(port, "/", body="x" * length)() for length in (int(size), 200))
    return lambda: small() if next(number) % int(every) else large()


def pg(port, statement):
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(numbered(statement))


def mariadb(port, source):
    import pymysql

    def ask():
        login = {"host": "127.0.0.1", "port": port, "user": "client", "password": "client"}
        connection = pymysql.connect(bind_address=source, connect_timeout=30, **login)
        connection.cursor().execute("SELECT 1")
        connection.close()

    return ask


def mail(port):
    def reply(answers, kinds):
        while (line := answers.readline())[3:4] == b"-":
            pass
        if line[:1] not in kinds:
            raise OSError(line.decode())

    def ask():
        connection, answers = stream(port)
        reply(answers, b"2")
        for line in "EHLO client.example", "MAIL FROM:<a@client.example>", "RCPT TO:<b@shop.example>", "DATA":
            connection.sendall(f"{line}\r\n".encode())
            reply(answers, b"23")
        connection.sendall(b"Subject: order\r\n\r\n" + b"a line of the order\r\n" * 100 + b".\r\n")
        reply(answers, b"2")
        connection.sendall(b"QUIT\r\n")  # and does not wait for the last reply
        answers.close()
        connection.close()

    return ask


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
