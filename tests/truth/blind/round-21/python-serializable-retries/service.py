"""Books transfers in PostgreSQL, a transaction for each, until it succeeds."""

import os
import random
import sys
import threading
import time

import psycopg2
from psycopg2.errors import SerializationFailure
from server import serve

own = threading.local()


def connection() -> "psycopg2.extensions.connection":
    """Return the connection of this thread."""
    if not hasattr(own, "connection"):
        own.connection = psycopg2.connect(host=sys.argv[1], user="postgres", dbname="postgres")
        own.connection.set_session(isolation_level=os.environ["ISOLATION"])
    return own.connection


def transfer(account: int) -> None:
    """Book what an account may."""
    with connection() as transaction, transaction.cursor() as cursor:
        cursor.execute("SELECT sum(amount) FROM ledger WHERE account = %s", (account,))
        cursor.execute("SELECT pg_sleep(0.04)")
        cursor.execute("INSERT INTO ledger (account, amount) VALUES (%s, 1)", (account,))


def book(path: str) -> None:
    """Try until it is done."""
    account = random.randrange(500)
    for attempt in range(1, 100):
        try:
            return transfer(account)
        except SerializationFailure:
            time.sleep(random.uniform(0.03, 0.06) * min(attempt, 8))


serve(int(os.environ["PORT"]), book)
