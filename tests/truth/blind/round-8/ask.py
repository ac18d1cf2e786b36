"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH             by a new connection; {n} in it is a number that goes up
  kept PATH [HEADER]    over a connection for each worker
  pg STATEMENT          over a connection for each worker
  transfer OPPOSITE     two sessions book between the same two accounts, in opposite order or not
  redis EVERY ONE MANY  one command of Redis, and another one every so often
  memcached KEY         by a new connection
  put BYTES             a job of beanstalkd
  mail                  a session of SMTP up to the recipient
  ldap FILTER           a search, over a connection for each worker
"""

import itertools
import pathlib
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load

number = itertools.count(1)


def numbered(text):
    return text.replace("{n}", str(next(number)))


def http(port, path):
    def ask():
        connection, answers = stream(port)
        connection.sendall(f"GET {numbered(path)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        if answers.readline().split()[1:2] != [b"200"]:
            raise OSError("not answered")
        answers.read()
        answers.close()
        connection.close()

    return ask


def kept(port, path, header=""):
    return load.http(port, path, headers=f"{header}\r\n" if header else "")()


def session(port):
    import psycopg2

    return psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres")


def pg(port, statement):
    connection = session(port)
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(numbered(statement))


def transfer(port, opposite):
    import psycopg2

    connection = session(port)
    cursor = connection.cursor()

    def book():
        accounts = [1, 2]
        if opposite == "yes" and next(number) % 2:
            accounts.reverse()
        while True:
            try:
                for account in accounts:
                    cursor.execute("UPDATE accounts SET balance = balance + 1 WHERE id = %s", (account,))
                    time.sleep(0.01)
                connection.commit()
                return
            except psycopg2.extensions.TransactionRollbackError:  # a deadlock: again, as applications do
                connection.rollback()
                time.sleep(0.1)

    return book


def stream(port):
    connection = socket.create_connection(("127.0.0.1", port), 60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection, connection.makefile("rb")


def redis(port, every, one, many):
    connection, answers = stream(port)

    def value():
        line = answers.readline()
        if line[:1] == b"$" and line != b"$-1\r\n":
            answers.read(int(line[1:]) + 2)
        for _ in range(int(line[1:]) if line[:1] == b"*" else 0):
            value()
        if line[:1] == b"-":
            raise OSError(line.decode())

    def ask():
        words = numbered(one if next(number) % int(every) else many).split()
        connection.sendall(
            f"*{len(words)}\r\n".encode() + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)
        )
        value()

    return ask


def memcached(port, key):
    def ask():
        connection, answers = stream(port)
        connection.sendall(f"get {key}\r\n".encode())
        while (line := answers.readline()) != b"END\r\n":
            if not line or line.startswith(b"ERROR"):
                raise OSError(line.decode())
        answers.close()
        connection.close()

    return ask


def put(port, size):
    connection, answers = stream(port)

    def ask():
        connection.sendall(f"put 0 0 60 {size}\r\n{'x' * int(size)}\r\n".encode())
        if not answers.readline().startswith(b"INSERTED"):
            raise OSError("not inserted")

    return ask


def mail(port):
    def reply(answers):
        while (line := answers.readline())[3:4] == b"-":
            pass
        if line[:1] != b"2":
            raise OSError(line.decode())

    def ask():
        connection, answers = stream(port)
        reply(answers)
        for line in "EHLO client.example", "MAIL FROM:<a@client.example>", "RCPT TO:<b@shop.example>":
            connection.sendall(f"{line}\r\n".encode())
            reply(answers)
        connection.sendall(b"QUIT\r\n")  # and does not wait for the last reply
        answers.close()
        connection.close()

    return ask


def ldap(port, wanted):
    import ldap3

    connection = ldap3.Connection(f"ldap://127.0.0.1:{port}", auto_bind=True)

    def ask():
        if not connection.search("dc=shop,dc=example", numbered(wanted)):
            raise OSError("nobody found")

    return ask


def main(kind, port, milliseconds, rate, workers, burst, *what):
    client = globals()[kind]
    load.run(lambda: client(int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
