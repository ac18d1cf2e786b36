"""service.py PORT DATABASE: answers with the state of an order, over a connection of its own for each request."""

import sqlite3
import sys

from server import serve


def page(path: str) -> None:
    """Look up one order."""
    database = sqlite3.connect(sys.argv[2])
    assert database.execute("SELECT state FROM tenant_1_orders WHERE id = 17").fetchone() == ("paid",)
    database.close()


serve(int(sys.argv[1]), page)
