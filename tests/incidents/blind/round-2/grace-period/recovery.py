"""Adds a client that is gone to those that the server remembers, or removes it."""

import sqlite3
import sys

with sqlite3.connect("/var/lib/nfs/nfsdcltrack/main.sqlite") as remembered:
    remembered.execute("DELETE FROM clients WHERE id = ?", (b"switched off",))
    if sys.argv[1] == "add":
        remembered.execute("INSERT INTO clients (id, time, has_session) VALUES (?, 1, 0)", (b"switched off",))
