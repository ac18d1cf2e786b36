"""fill.py DATABASE TENANTS: makes the tables of each tenant."""

import sqlite3
import sys

TABLES = ("orders", "customers", "invoices", "products", "payments")
COLUMNS = (
    "id INTEGER PRIMARY KEY, created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, number TEXT, state TEXT, amount REAL"
)

database = sqlite3.connect(sys.argv[1])
for tenant in range(int(sys.argv[2])):
    for table in TABLES:
        database.execute(f"CREATE TABLE tenant_{tenant}_{table} ({COLUMNS}, note TEXT CHECK (length(note) < 1000))")
        database.execute(f"CREATE INDEX tenant_{tenant}_{table}_state ON tenant_{tenant}_{table} (state, created)")
database.executemany("INSERT INTO tenant_1_orders (id, state) VALUES (?, 'paid')", [(n,) for n in range(2000)])
database.commit()
