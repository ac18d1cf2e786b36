"""Small pages, and a report that PostgreSQL takes a third of a second for."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import psycopg2
from gevent.socket import wait_read, wait_write
from psycopg2 import extensions

Start = Callable[[str, list[tuple[str, str]]], object]
REPORT = "SELECT count(*), pg_sleep(0.35) FROM pg_class"  # as a database far away, or busy, would take


def let_others_run(connection: Any) -> None:
    """Wait for PostgreSQL as gevent wants it."""
    while (state := connection.poll()) != extensions.POLL_OK:
        if state == extensions.POLL_READ:
            wait_read(connection.fileno())
        else:
            wait_write(connection.fileno())


if os.environ["GREEN"] == "yes":
    extensions.set_wait_callback(let_others_run)


def report() -> bytes:
    """Ask PostgreSQL."""
    connection = psycopg2.connect(host=os.environ["DATABASE"], user="postgres", dbname="postgres")
    cursor = connection.cursor()
    cursor.execute(REPORT)
    count, _ = cursor.fetchone()
    connection.close()
    return b"%d tables\n" % count


def application(environment: dict[str, str], start_response: Start) -> Iterable[bytes]:
    """Answer."""
    page = report() if environment["PATH_INFO"] == "/report" else b"We are open from nine to five.\n"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(page)))])
    return [page]
