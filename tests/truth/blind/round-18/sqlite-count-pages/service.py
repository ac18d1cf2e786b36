"""service.py PORT FILE exact|kept: pages of an audit log, each of which says how many entries there are."""

import random
import sqlite3
import sys
import threading

from server import serve

FILE, TOTAL = sys.argv[2], sys.argv[3]
STATEMENTS = {
    "exact": "SELECT count(*) FROM entry WHERE tenant = ?",
    "kept": "SELECT entries FROM total WHERE tenant = ?",
}
local = threading.local()


def page(path: str) -> None:
    """Read twenty entries and the number of all."""
    if not hasattr(local, "connection"):
        local.connection = sqlite3.connect(f"file:{FILE}?mode=ro", uri=True)
    first = random.randrange(1, 1000)
    rows = local.connection.execute("SELECT * FROM entry WHERE id >= ? ORDER BY id LIMIT 20", (first,)).fetchall()
    (total,) = local.connection.execute(STATEMENTS[TOTAL], (1,)).fetchone()
    assert len(rows) == 20 and total > 1000


serve(int(sys.argv[1]), page)
