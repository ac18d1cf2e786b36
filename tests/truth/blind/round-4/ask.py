"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH [COOKIES [HOST]]  by a new connection, with one of these cookies; "{n}" in PATH is a digit
  line                 connects, and reads to the end
  dns NAME             a query over UDP
  mysql USER STATEMENT over a connection for each worker
"""

import pathlib
import random
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load


def http(port, path, cookies="", host="127.0.0.1"):
    def ask():
        headers = f"Cookie: {random.choice(cookies.split())}\r\n" if cookies else ""
        load.http(port, path.replace("{n}", str(random.randrange(10))), fresh=True, headers=headers, host=host)()()

    return ask


def line(port):
    def ask():
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            if not connection.makefile("rb").read():
                raise OSError("no answer")

    return ask


def dns(port, name):
    connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connection.connect(("127.0.0.1", port))
    connection.settimeout(30)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    message = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"

    def ask():
        connection.send(message)
        if struct.unpack(">6H", connection.recv(512)[:12])[3] == 0:
            raise OSError("no address")

    return ask


def mysql(port, user, statement):
    import pymysql

    cursor = pymysql.connect(host="127.0.0.1", port=port, user=user, autocommit=True, database="test").cursor()
    return lambda: cursor.execute(statement)


def main(kind, port, milliseconds, rate, workers, burst, *what):
    kinds = {"http": http, "line": line, "dns": dns, "mysql": mysql}
    load.run(lambda: kinds[kind](int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
