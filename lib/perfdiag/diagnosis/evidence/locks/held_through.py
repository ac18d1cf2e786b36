"""Locks whose holder waits for another thread, where no wake-up shows who holds the lock.

Threads that wait for CPython's GIL wake by a timeout, as a rule, and ask again: no wake-up shows the holder. But one
thread holds a lock at a time, and it is held as long as anybody waits for it. If all threads that take the lock were
running or runnable for less than half of that, it is held in waits. Where nearly all their waits had one cause, that is
what the holder waits for.
"""

from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.significance import worth
from perfdiag.model.model import Model, Row, once
from perfdiag.model.share_denominator import counted
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.wait_chains import Chain

_LOCKS = ("lock.", "cpu.", "runq.")


@dataclass(frozen=True)
class _Cause:
    chain: Chain  # the longest of those that lead to it
    ns: int


@once
def held_through(model: Model) -> list[Chain]:
    """Return the waits for locks that are behind what their holders wait for, by inference."""
    first: dict[tuple[str, str], Row] = {}
    waited: dict[tuple[str, str], int] = {}
    for row in model.rows:
        if row.account.startswith("lock."):
            pair = row.account, row.key
            first.setdefault(pair, row)
            waited[pair] = waited.get(pair, 0) + row.distribution.sum_ns
    # Rows of more than the account has are of a damaged recording, which may have any number.
    felt = [pair for pair, ns in waited.items() if worth(model, ns) and ns <= model.ns(pair[0])]
    if not felt:
        return []
    seen = dict.fromkeys(felt, 0)
    for each in model.chains:
        if (each.account, each.key) in seen:
            seen[each.account, each.key] += each.ns
    behind = (_behind(model, first[pair], waited[pair], seen[pair]) for pair in felt)
    return [chain for chain in behind if chain]


@once
def _takers(model: Model) -> dict[tuple[int, str], list[ThreadLedger]]:
    """Return the threads that wait for locks, by process and account."""
    return groups_by_key(
        ((thread.pid, account), thread)
        for thread in model.threads
        for account, total in thread.accounts.items()
        if account.startswith("lock.") and total.ns
    )


@once
def _ways(model: Model) -> dict[int, list[Chain]]:
    """Return what waits in requests led to, but for locks and CPUs, by process."""
    return groups_by_key(
        (each.pid, each)
        for each in model.chains
        if each.inside and not each.account.startswith(_LOCKS) and not _runs(each)
    )


def _behind(model: Model, row: Row, waited_ns: int, seen_ns: int) -> Chain | None:
    unseen_ns = waited_ns - seen_ns
    takers = _takers(model).get((row.pid, row.account), [])
    if len(takers) < 2 or unseen_ns <= locks_policy.holder_seen_share * waited_ns:
        return None
    # At least: somebody holds it while one and the same thread waits.
    others_ns = model.ns(row.account) - waited_ns
    held_ns = max(each.ns(row.account) for each in takers) - others_ns
    running_ns = sum(_sum(each, "cpu.", "runq.") for each in takers)
    cause = _cause(model, row, takers)
    if (
        cause is None
        or running_ns >= locks_policy.holder_running_share * held_ns
        or cause.ns + running_ns < held_ns
        or cause.ns > model.window_ns
    ):
        return None
    part, way, time = cause.ns / (cause.ns + running_ns), cause.chain, model.request_time
    if time is not None and (row.account, row.key) in time.rows:
        part *= min(
            1.0, time.parked_ns.get((row.account, row.key), 0) / waited_ns
        )  # chains tell what is inside requests
    return Chain(
        row.account,
        row.key,
        row.pid,
        (way.account, *way.steps),
        way.cut,
        way.root,
        way.root_key,
        way.root_object,
        way.root_tid,
        round(part * unseen_ns),
        0,
        inside=True,
        some_tid=way.some_tid,
        lock=row.object,
    )


def _cause(model: Model, row: Row, takers: list[ThreadLedger]) -> _Cause | None:
    """Return what nearly all waits of threads that serve requests led to, None if they had several causes."""
    chains = _ways(model).get(row.pid, [])
    if not chains:
        return None
    sums = sums_by_key(((each.root, each.root_key), each.ns) for each in chains)
    most = max(sums, key=lambda pair: sums[pair])
    direct_ns = sum(
        total.ns
        for thread in takers
        for account, total in thread.accounts.items()
        if counted(account) and not account.startswith(_LOCKS)
    )
    if not counted(most[0]) or sums[most] < locks_policy.takers_same_cause_share * (sum(sums.values()) + direct_ns):
        return None
    return _Cause(max((c for c in chains if (c.root, c.root_key) == most), key=lambda each: each.ns), sums[most])


def _runs(chain: Chain) -> bool:
    """Return whether whoever was waited for ran, or waited for a lock itself: that is no cause of its own."""
    return chain.root.startswith(_LOCKS)


def _sum(thread: ThreadLedger, *families: str) -> int:
    return sum(total.ns for account, total in thread.accounts.items() if account.startswith(families))
