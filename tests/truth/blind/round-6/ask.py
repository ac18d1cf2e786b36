"""Asks at a constant rate as the open loop of round 1 does, in bursts where wanted.

ask.py KIND PORT MS RATE WORKERS BURST WHAT...
  http PATH [BYTES]    by a new connection; with BYTES, a POST of so many
  kept PATH            over a connection for each worker
  tls PATH             by a new connection, encrypted, that asks for the state of the certificate
  mysql STATEMENT      over a connection for each worker; {n} is a number below 20,000
  redis KEY            over a connection for each worker
"""

import pathlib
import random
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round-1"))
import load


def http(port, path, size="0"):
    return lambda: load.http(port, path, fresh=True, body="x" * int(size) if int(size) else None)()()


def kept(port, path):
    return load.http(port, path)()


def tls(port, path):
    words = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-status", "-quiet", "-ign_eof"]
    asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()

    def request():
        done = subprocess.run(words, input=asked, capture_output=True, timeout=60, check=False)
        if b" 200 " not in done.stdout.partition(b"\n")[0]:
            raise OSError((done.stdout + done.stderr)[-200:])

    return request


def mysql(port, statement):
    import pymysql

    cursor = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, database="test").cursor()
    parts = statement.split("{n}")
    return lambda: cursor.execute("".join(part + str(random.randrange(20000)) for part in parts[:-1]) + parts[-1])


def redis(port, key):
    connection = socket.create_connection(("127.0.0.1", port))
    answers = connection.makefile("rb")

    def request():
        connection.sendall(f"GET {key}\r\n".encode())
        head = answers.readline()
        if not head.startswith(b"$") or head == b"$-1\r\n":
            raise OSError(head)
        answers.read(int(head[1:]) + 2)

    return request


def main(kind, port, milliseconds, rate, workers, burst, *what):
    kinds = {"http": http, "kept": kept, "tls": tls, "mysql": mysql, "redis": redis}
    load.run(lambda: kinds[kind](int(port), *what), float(rate), int(milliseconds), int(workers), burst=int(burst))


main(*sys.argv[1:])
