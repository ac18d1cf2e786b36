"""The sums of a recording in the making: they agree with each other, as the recorder's do."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from perfdiag.recording import schema
from perfdiag.recording.laws.bucket_laws import RUNNING

from unit.support.amounts import spread

Sums = dict[str, tuple[int, int, int]]  # of an account: time, count, longest


def close(sums: Sums, wall_ns: int, rest: str, *, open_books: bool) -> None:
    """Give what is left of the wall time to the account `rest`."""
    left = wall_ns - sum(ns for ns, _, _ in sums.values())
    if open_books or not left:
        return
    if left < 0:
        raise ValueError(f"accounts exceed the wall time of the thread by {-left} ns")
    had = sums.get(rest, (0, 0, 0))
    sums[rest] = (had[0] + left, had[1] + 1, max(had[2], left))


def account_sums(sums: Sums) -> list[schema.AccountSum]:
    """Return sums as they stand in a line."""
    return [schema.AccountSum(account, *values) for account, values in sums.items()]


def interval(at_ns: int, threads: Sequence[schema.Thread], exited: Sequence[schema.Exited]) -> schema.Interval:
    """Return the one interval of all that threads did."""
    lines: list[schema.Thread | schema.Exited] = [*threads, *exited]
    sums: Sums = {}
    for line in lines:
        for a in line.accounts:
            had = sums.get(a.account, (0, 0, 0))
            sums[a.account] = (had[0] + a.sum_ns, had[1] + a.count, max(had[2], a.max_ns))
    return schema.Interval(
        at_ns=at_ns,
        threads=len(threads),
        accounts=account_sums(sums),
        wall_ns=sum(line.wall_ns for line in lines),
    )


def details(
    explicit: Sequence[schema.Detail], threads: Sequence[schema.Thread], exited: Sequence[schema.Exited]
) -> list[schema.Detail]:
    """Return the explicit rows merged by key, and a row without an object for what they leave of each account."""
    rows: dict[tuple[int, str, str], schema.Detail] = {}
    left: dict[tuple[int, str], list[int]] = {}
    sources = [(line.pid, line.accounts) for line in threads] + [(0, line.accounts) for line in exited]
    for pid, accounts in sources:
        for a in accounts:
            had = left.setdefault((pid, a.account), [0, 0, 0])
            had[:] = [had[0] + a.sum_ns, had[1] + a.count, max(had[2], a.max_ns)]
    for detail in explicit:
        total = left[detail.pid, detail.account]
        total[:] = [total[0] - detail.sum_ns, total[1] - detail.count, total[2]]
        _merge(rows, detail)
    for (pid, account), (sum_ns, count, max_ns) in left.items():
        if sum_ns > 0:
            max_ns = min(max_ns, sum_ns)
            _merge(
                rows,
                schema.Detail(
                    pid=pid,
                    account=account,
                    object="",
                    sum_ns=sum_ns,
                    count=max(count, 1),
                    max_ns=max_ns,
                    buckets=[] if account in RUNNING else spread(sum_ns, max(count, 1), max_ns),
                ),
            )
    return list(rows.values())


def _merge(rows: dict[tuple[int, str, str], schema.Detail], detail: schema.Detail) -> None:
    key = detail.pid, detail.account, detail.object
    had = rows.get(key)
    if had is None:
        rows[key] = detail
        return
    buckets = dict(had.buckets)
    for index, count in detail.buckets:
        buckets[index] = buckets.get(index, 0) + count
    rows[key] = msgspec.structs.replace(
        had,
        sum_ns=had.sum_ns + detail.sum_ns,
        count=had.count + detail.count,
        buckets=sorted(buckets.items()),
        max_ns=max(had.max_ns, detail.max_ns),
        waker_tid=had.waker_tid or detail.waker_tid,
        waker_count=had.waker_count + detail.waker_count,
    )


__all__ = ["account_sums", "close", "details", "interval"]
