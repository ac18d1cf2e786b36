"""service.py PORT FILE PAGES: counts its requests in SQLite, whose log is put back after so many pages."""

import sqlite3
import sys
import threading

from server import serve

port, path, pages = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
own = threading.local()


def connection():
    if not hasattr(own, "database"):
        own.database = sqlite3.connect(path, isolation_level=None, timeout=30)
        own.database.execute("PRAGMA journal_mode = WAL")
        own.database.execute("PRAGMA synchronous = NORMAL")
        own.database.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        own.database.execute("CREATE TABLE IF NOT EXISTS counts (path TEXT PRIMARY KEY, count INT)")
    return own.database


def count(path):
    connection().execute("INSERT INTO counts VALUES (?, 1) ON CONFLICT (path) DO UPDATE SET count = count + 1", (path,))


connection()
serve(port, count)
