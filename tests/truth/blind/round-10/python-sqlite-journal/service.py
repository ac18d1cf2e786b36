"""service.py PORT WAL|DELETE FILE: notes each click in a database of SQLite."""

import sqlite3
import sys
import time

from server import serve


def work(path):
    database = sqlite3.connect(sys.argv[3], isolation_level=None)
    if sys.argv[2] == "WAL":
        database.execute("PRAGMA synchronous = NORMAL")
    for what in "click", "visit":
        database.execute("INSERT INTO clicks VALUES (?, ?, ?)", (time.time(), what, path))
    database.close()


setup = sqlite3.connect(sys.argv[3])  # stays open, so that no other one is the last to close
setup.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
setup.execute("CREATE TABLE clicks (at, what, path)")
serve(int(sys.argv[1]), work)
