"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py http PORT MS RATE WORKERS BURST PATH [HEADER]    "{n}" in PATH is a number below 1000
ask.py ftp PORT MS RATE WORKERS BURST USER:PASSWORD     logs in and out
ask.py redis PORT MS RATE WORKERS BURST KEYS            gets one of so many keys
"""

import ftplib
import pathlib
import random
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load


def http(port, path, header=""):
    more = f"{header}\r\n" if header else ""

    def ask():
        message = f"GET {path.replace('{n}', str(random.randrange(1000)))} HTTP/1.1\r\nHost: x\r\n{more}"
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(f"{message}Connection: close\r\n\r\n".encode())
            answers = connection.makefile("rb")
            status = answers.readline().split()
            if not status or status[1][:1] not in b"23":
                raise OSError(f"status {status}")
            answers.read()

    return ask


def ftp(port, login):
    def ask():
        with ftplib.FTP() as session:
            session.connect("127.0.0.1", port, 60)
            session.login(*login.split(":"))

    return ask


def redis(port, keys):
    answers = socket.create_connection(("127.0.0.1", port), 60).makefile("rwb")

    def ask():
        answers.write(f"GET key:{random.randrange(int(keys))}\r\n".encode())
        answers.flush()
        size = answers.readline()
        if not size.startswith(b"$") or size.startswith(b"$-"):
            raise OSError(f"answer {size}")
        answers.read(int(size[1:]) + 2)

    return ask


def main(kind, port, milliseconds, rate, workers, burst, *what):
    kinds = {"http": http, "ftp": ftp, "redis": redis}
    load.run(lambda: kinds[kind](int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
