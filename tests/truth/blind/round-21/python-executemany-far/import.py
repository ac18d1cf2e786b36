"""Imports readings, batch by batch, and notes what each took: import.py LOG."""

import os
import sys
import time

import psycopg2
from psycopg2.extras import execute_values


def connected() -> "psycopg2.extensions.connection":
    """Return a connection as soon as there is one."""
    while True:
        try:
            return psycopg2.connect(host="127.0.0.1", port=os.environ["FAR"], user="postgres", dbname="postgres")
        except psycopg2.OperationalError:
            time.sleep(0.1)


def put(rows: list[tuple[int, int]]) -> None:
    """Insert a batch."""
    with connection, connection.cursor() as cursor:
        if os.environ["HOW"] == "many":
            cursor.executemany("INSERT INTO readings (sensor, value) VALUES (%s, %s)", rows)
        else:
            execute_values(cursor, "INSERT INTO readings (sensor, value) VALUES %s", rows, page_size=1000)


connection = connected()
with connection, connection.cursor() as first:
    first.execute("CREATE TABLE readings (sensor INT, value INT)")
with open(sys.argv[1], "w", buffering=1) as log:
    while True:
        began = time.monotonic()
        put([(number, number % 97) for number in range(300)])
        log.write(f"{(time.monotonic() - began) * 1000:.1f}\n")
        time.sleep(0.2)
