"""service.py make FILE STATEMENT, then service.py PORT FILE: what the orders of a customer come to, of SQLite."""

import random
import sqlite3
import sys
import threading

import server

QUERY = "SELECT sum(lines.price) FROM orders JOIN lines ON lines.ordered = orders.id WHERE orders.customer = ?"
own = threading.local()


def make(path, statement):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER)")
    database.execute("CREATE INDEX orders_of_customer ON orders(customer)")
    database.execute("CREATE TABLE lines (ordered INTEGER, price INTEGER, note TEXT)")
    database.executemany("INSERT INTO orders VALUES (?, ?)", ((order, order % 400) for order in range(20_000)))
    lines = ((random.randrange(20_000), line % 90, "x" * 40) for line in range(60_000))
    database.executemany("INSERT INTO lines VALUES (?, ?, ?)", lines)
    database.execute(statement)
    database.commit()


def total(path):
    if not hasattr(own, "database"):
        own.database = sqlite3.connect(sys.argv[2])
    own.database.execute(QUERY, (random.randrange(400),)).fetchall()


if sys.argv[1] == "make":
    make(*sys.argv[2:])
else:
    server.serve(int(sys.argv[1]), total)
