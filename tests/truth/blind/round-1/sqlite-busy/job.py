"""MILLISECONDS: once a second, a transaction that takes as long."""

import sqlite3
import sys
import time

database = sqlite3.connect("forum.db", timeout=10, isolation_level=None)
database.execute("PRAGMA synchronous = OFF")
while True:
    database.execute("BEGIN IMMEDIATE")
    database.execute("UPDATE posts SET body = 'x' WHERE id = 1")
    time.sleep(int(sys.argv[1]) / 1000)
    database.execute("COMMIT")
    time.sleep(1 - int(sys.argv[1]) / 1000)
