"""Sessions that keep a transaction open, and its locks, while they wait for their clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from perfdiag.diagnosis.evidence.session_waits import EVENTS, LOCK, Pair, open_waits, said, wait_of
from perfdiag.diagnosis.significance import plain, thread_of
from perfdiag.model.model import Model, once
from perfdiag.model.waits.postgres_waits import SessionWait
from perfdiag.recording.distribution import Distribution, merged


@dataclass(frozen=True)
class Behind:
    """What others waited behind sessions that were idle in a transaction."""

    claims: Mapping[str | Pair, int]  # of waits for locks, by account and key
    seen_ns: int  # of that, the holder gave the lock away in the window, and was in this at each moment
    open_ns: int  # the lock had not been given away when the window ended
    holders: Mapping[int, int]  # by process: the time that others waited for it
    candidates: int  # sessions that may have what had not been given away
    waiters: int  # processes

    @property
    def ns(self) -> int:
        """All of it."""
        return self.seen_ns + self.open_ns


@once
def idle(model: Model) -> Distribution:
    """Return how long sessions were idle in transactions, each time."""
    return merged(each.row.distribution for each in said(model) if each.wait.is_idle_in_transaction)


@once
def behind(model: Model) -> Behind:
    """Return who waited behind such sessions, as far as wake-ups show it, or nothing else can be the reason."""
    return _unreleased(model, _seen(model))


def _seen(model: Model) -> Behind:
    """Return it for locks that were given away: the chain from waiter to holder was recorded at the wake-up."""
    claims: dict[str | Pair, int] = {}
    holders: dict[int, int] = {}
    waiters: set[int] = set()
    for chain in model.chains:
        root = wait_of(model, chain.root_key) if (chain.account, chain.root) == (LOCK, EVENTS) else None
        if root is None or not root.is_idle_in_transaction:
            continue
        claims[LOCK, chain.key] = claims.get((LOCK, chain.key), 0) + chain.ns
        waiters.add(chain.pid)
        if tid := chain.root_tid or chain.some_tid:
            holders[tid] = holders.get(tid, 0) + chain.ns
    return Behind(claims, sum(claims.values()), 0, holders, 0, len(waiters))


def _unreleased(model: Model, found: Behind) -> Behind:
    """Add waits that were open at the end: who has the lock has not ended its transaction.

    A session that was idle in one meanwhile may have it.  Of one that computes or waits for a disk nobody could say so.
    """
    end_ns = model.header.start_ns + model.window_ns
    waiting = open_waits(model, LOCK, _is_kept_to_the_end)
    holding = open_waits(model, EVENTS, lambda wait: wait.is_idle_in_transaction)
    if not waiting or not holding:
        return found
    holder, hold = min(holding, key=lambda pair: (pair[1].since_ns, pair[0].pid))
    claims, holders, open_ns = dict(found.claims), dict(found.holders), 0
    for _, wait in waiting:
        ns = end_ns - max(wait.since_ns, hold.since_ns, model.header.start_ns)
        claims[LOCK, wait.object] = claims.get((LOCK, wait.object), 0) + ns
        open_ns += ns
    holders[holder.pid] = holders.get(holder.pid, 0) + open_ns
    waiters = found.waiters + len(waiting)
    return replace(found, claims=claims, open_ns=open_ns, holders=holders, candidates=len(holding), waiters=waiters)


def _is_kept_to_the_end(wait: SessionWait) -> bool:
    return wait.is_heavy_lock


def name_of(model: Model, pid: int) -> str:
    """Return a session for people."""
    thread = thread_of(model, pid)
    return f"{plain(thread.comm)} ({pid})" if thread else f"process {pid}"


__all__ = ["Behind", "behind", "idle", "name_of"]
