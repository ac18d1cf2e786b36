"""What pgbench has noted of every transaction, as one line of JSON: transactions.py LOG..."""

import fileinput
import json

# Client, transaction, time, script, seconds, microseconds, lag; with --rate the time begins when it was due.
with fileinput.input() as lines:
    rows = [line.split() for line in lines]
waited = sorted(int(row[2]) for row in rows if row[2].isdigit())
served = sorted(int(row[2]) - int(row[6]) for row in rows if row[2].isdigit())


def of(values: list[int], percent: int) -> int:
    """Return a percentile in nanoseconds."""
    return values[(len(values) - 1) * percent // 100] * 1000


truth = {f"{prefix}p{percent}_ns": of(values, percent) for prefix, values in (("", waited), ("served_", served))
         for percent in (50, 99)}  # fmt: skip
print(json.dumps({"requests": len(rows), **truth}))
