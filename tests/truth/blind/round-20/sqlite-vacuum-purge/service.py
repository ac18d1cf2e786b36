"""Logs sessions out: deletes what is over from a database of SQLite, and makes its file small again, or does not."""

import itertools
import os
import sqlite3
import sys
import threading

from server import serve

PATH = os.path.join(sys.argv[1], "sessions.db")
tidies = os.environ["TIDIES"] == "yes"
lock = threading.Lock()
number = itertools.count(1)


def prepare() -> None:
    """Make the database: 40,000 sessions of 1 kB."""
    with sqlite3.connect(PATH) as database:
        database.execute("CREATE TABLE sessions (id INTEGER PRIMARY KEY, user TEXT, data TEXT)")
        rows = ((n, f"user {n % 900}", f"{n:010}" * 100) for n in range(40_000))
        database.executemany("INSERT INTO sessions VALUES (?, ?, ?)", rows)
        database.execute("CREATE INDEX users ON sessions (user)")


def log_out(path: str) -> None:
    """Delete a session."""
    with lock:
        database = sqlite3.connect(PATH, isolation_level=None)
        database.execute("DELETE FROM sessions WHERE id = ?", (next(number),))
        if tidies:
            database.execute("VACUUM")
        database.close()


prepare()
serve(int(os.environ["PORT"]), log_out)
