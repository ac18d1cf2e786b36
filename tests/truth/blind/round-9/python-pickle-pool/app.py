"""PORT inherited|handed-over: adds up a column of a table in a pool of processes."""

import multiprocessing
import sys

from server import serve

rows = [{"id": n, "name": f"customer {n}", "city": f"city {n % 100}", "sum": n * 1.5} for n in range(40000)]


def add_up(table):
    return sum(row["sum"] for row in (rows if table is None else table))


pool = multiprocessing.get_context("fork").Pool(2)
table = None if sys.argv[2] == "inherited" else rows
serve(int(sys.argv[1]), lambda _: pool.apply(add_up, (table,)))
