"""Which part of the threads' time in an account is time of requests."""

from __future__ import annotations

from collections import defaultdict

from perfdiag.diagnosis.rule import Claim
from perfdiag.model.model import Model


def parts_inside(model: Model) -> dict[Claim, float]:
    """Return which part of the threads' time counts, by account and, of waits on futexes, by row: more than 1 where
    several requests wait for what one thread does."""
    time = model.request_time
    if time is None:
        return {}
    found: dict[Claim, float] = {
        name: time.accounts.get(name, 0) / total.ns for name, total in model.accounts.items() if total.ns
    }
    known = {account for account, _ in time.rows}
    row_ns: defaultdict[tuple[str, str], int] = defaultdict(int)
    for row in model.rows:
        if row.account in known:
            row_ns[row.account, row.key] += row.distribution.sum_ns
    return found | {pair: time.rows.get(pair, 0) / ns for pair, ns in row_ns.items() if ns}


__all__ = ["parts_inside"]
