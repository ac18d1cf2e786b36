"""fill.py FILE: an audit log of a million entries, most of them of one tenant."""

import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1])
connection.executescript("""
CREATE TABLE entry (id INTEGER PRIMARY KEY, tenant INTEGER, user INTEGER, action TEXT);
CREATE INDEX entry_of_tenant ON entry (tenant);
CREATE TABLE total (tenant INTEGER PRIMARY KEY, entries INTEGER);
""")
with connection:
    connection.executemany(
        "INSERT INTO entry (tenant, user, action) VALUES (?, ?, ?)",
        ((1 if number % 10 else 2, number % 5000, "opened the document") for number in range(1_000_000)),
    )
    connection.execute("INSERT INTO total SELECT tenant, count(*) FROM entry GROUP BY tenant")
