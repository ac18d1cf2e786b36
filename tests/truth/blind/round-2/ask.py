"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py http PORT MS RATE WORKERS BURST PATH [fresh]
ask.py pg PORT MS RATE WORKERS BURST SQL
ask.py mariadb PORT MS RATE WORKERS BURST SQL      "{row}" in it is the number of a row
ask.py dns PORT MS RATE WORKERS BURST NAME
ask.py ldap PORT MS RATE WORKERS BURST ENTRIES
ask.py amqp PORT MS RATE WORKERS BURST QUEUE
ask.py command PORT MS RATE WORKERS BURST COMMAND
"""

import pathlib
import random
import socket
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load

ROWS = 100_000


def pg(port, sql):
    import psycopg2

    connection = psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres")
    connection.autocommit = True
    cursor = connection.cursor()
    return lambda: cursor.execute(sql)


def mariadb(port, sql):
    import pymysql

    login = {"user": "client", "password": "client", "database": "shop"}
    cursor = pymysql.connect(host="127.0.0.1", port=port, autocommit=True, **login).cursor()
    return lambda: cursor.execute(sql.format(row=random.randrange(ROWS)))


def dns(port, name):
    def ask():
        words = b"".join(bytes([len(word)]) + word.encode() for word in name.split("."))
        number = random.randrange(1 << 16)
        question = struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + words + b"\0" + struct.pack(">2H", 1, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(20)
            asker.connect(("127.0.0.1", port))
            asker.send(question)
            if struct.unpack(">H", asker.recv(1500)[:2])[0] != number:
                raise OSError("the answer is of another question")

    return ask


def ldap(port, entries):
    import ldap3

    connection = ldap3.Connection(ldap3.Server("127.0.0.1", port, get_info=ldap3.NONE), auto_bind=True)

    def ask():
        who = f"uid=u{random.randrange(int(entries))},dc=example,dc=com"
        if not connection.search(who, "(objectClass=*)", ldap3.BASE, attributes=["description"]):
            raise OSError(f"no {who}")

    return ask


def amqp(port, queue):
    import pika

    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, heartbeat=0))
    channel = connection.channel()
    channel.queue_declare(queue)
    channel.confirm_delivery()
    return lambda: channel.basic_publish("", queue, b"x" * 1000)


def command(_port, words):
    return lambda: subprocess.run(words, shell=True, check=True)


def main(kind, port, milliseconds, rate, workers, burst, what, *more):
    kinds = {"pg": pg, "mariadb": mariadb, "dns": dns, "ldap": ldap, "amqp": amqp, "command": command}
    open_client = load.http(int(port), what, fresh="fresh" in more) if kind == "http" else None
    open_client = open_client or (lambda: kinds[kind](int(port), what))
    load.run(open_client, float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
