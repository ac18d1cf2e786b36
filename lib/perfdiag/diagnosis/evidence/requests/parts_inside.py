"""Which part of the threads' time in an account is time of requests."""

from collections.abc import Mapping

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.rule import Claim
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import RequestTime


def parts_inside(model: Model) -> dict[Claim, float]:
    """Return which part of the threads' time counts, by account and, of waits on futexes, by row: more than 1 where
    several requests wait for what one thread does.

    Requests that lay unread in an account that is known by row had no futex of their own: that time is divided as the
    threads' is.
    """
    time = model.request_time
    if time is None:
        return {}
    found: dict[Claim, float] = {
        name: time.accounts.get(name, 0) / total.ns for name, total in model.accounts.items() if total.ns
    }
    known = {account for account, _ in time.rows}
    row_ns = sums_by_key(
        ((row.account, row.key), row.distribution.sum_ns) for row in model.rows if row.account in known
    )
    unread = {account: _unread_ns(time, account) / max(1, _sum_ns(account, row_ns)) for account in known}
    return found | {pair: time.rows.get(pair, 0) / ns + unread[pair[0]] for pair, ns in row_ns.items() if ns}


def _unread_ns(time: RequestTime, account: str) -> int:
    """Return how long requests lay unread in an account, beside what they spent there themselves."""
    if account not in time.met.passed_on:
        return 0
    return max(0, time.accounts.get(account, 0) - _sum_ns(account, time.rows))


def _sum_ns(account: str, rows: Mapping[tuple[str, str], int]) -> int:
    return sum(ns for (name, _), ns in rows.items() if name == account)
