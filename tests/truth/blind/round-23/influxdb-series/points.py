"""Writes an hour of what requests took, of 50 hosts: points.py PORT COUNT."""

import os
import sys
import urllib.request

server, count = f"http://127.0.0.1:{sys.argv[1]}", int(sys.argv[2])


def ask(path: str, body: str = "") -> None:
    """Post something, which must be taken."""
    with urllib.request.urlopen(server + path, body.encode()) as answer:
        assert answer.status in (200, 204), answer.status


def line(number: int) -> str:
    """Return a point."""
    at, host, took = 1_700_000_000 + number * 3600 // count, number % 50, number % 97
    if os.environ["REQUEST"] == "tag":
        return f"requests,host=web{host},request=r{number} took={took} {at}"
    return f'requests,host=web{host} took={took},request="r{number}" {at}'


ask("/query?q=CREATE+DATABASE+shop")
for first in range(0, count, 5000):
    ask("/write?db=shop&precision=s", "\n".join(map(line, range(first, first + 5000))))
