"""PORT PAGES BANS: asks for so many pages, and then invalidates so many others; 50 requests at a time."""

import socket
import sys

PORT, PAGES, BANS = map(int, sys.argv[1:])


def answer(answers):
    size = 0
    while line := answers.readline().strip():
        name, _, value = line.partition(b":")
        size = int(value) if name.lower() == b"content-length" else size
    answers.read(size)


def ask(method, path, count):
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        answers = connection.makefile("rb")
        for first in range(0, count, 50):
            numbers = range(first, min(first + 50, count))
            lines = (f"{method} {path}{number:03} HTTP/1.1\r\nHost: x\r\n\r\n" for number in numbers)
            connection.sendall("".join(lines).encode())
            for _ in numbers:
                answer(answers)


ask("GET", "/page-", PAGES)
ask("BAN", "/", BANS)
