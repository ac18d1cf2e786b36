"""Sessions that keep a transaction open, and its locks, while they wait for their clients."""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import named
from perfdiag.diagnosis.evidence.session_waits import EVENTS, LOCK, Pair, looks_ns, open_waits, said, telling, wait_of
from perfdiag.diagnosis.policy import general_policy, sql_policy
from perfdiag.diagnosis.significance import thread_of
from perfdiag.model.model import Model, once
from perfdiag.model.share_denominator import counted
from perfdiag.recording.distribution import Distribution, merged

LOOKS = 2  # waits that are one: after deadlock_timeout, 1 s, a session wakes up to look for a deadlock, and sleeps on


@dataclass(frozen=True)
class Behind:
    """What others waited behind sessions that were idle in a transaction."""

    claims: Mapping[str | Pair, int]  # of waits for locks, by account and key
    seen_ns: int  # of that, the holder gave the lock away in the window, and was in this at each moment
    open_ns: int  # the lock had not been given away when the window ended
    holders: Mapping[int, int]  # by process: the time that others waited for it; 0: for several in turn
    candidates: int  # sessions that may have what had not been given away
    waiters: int  # processes

    @property
    def ns(self) -> int:
        """All of it."""
        return sum(self.claims.values())


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
    known: Counter[str] = Counter()
    for chain in model.chains:
        if chain.account != LOCK:
            continue
        known[chain.key] += chain.ns
        root = wait_of(model, chain.root_key) if chain.root == EVENTS else None
        if root is None or not root.is_idle_in_transaction:
            continue
        claims[LOCK, chain.key] = claims.get((LOCK, chain.key), 0) + chain.ns
        waiters.add(chain.pid)
        holders[chain.root_tid] = holders.get(chain.root_tid, 0) + chain.ns
    seen_ns = sum(claims.values())
    return Behind(_with_rest(model, claims, known), seen_ns, 0, holders, 0, len(waiters))


def _with_rest(model: Model, claims: Mapping[str | Pair, int], known: Mapping[str, int]) -> dict[str | Pair, int]:
    """Return claims with the part of the rest of each row that nothing was seen of, where most of it was seen."""
    rows = sums_by_key((row.key, row.distribution.sum_ns) for row in model.rows_of(LOCK))
    found: dict[str | Pair, int] = {}
    for pair, ns in claims.items():
        key = pair[1]
        enough = known[key] + looks_ns(model, [key]) >= sql_policy.queue_seen_share * rows[key]
        found[pair] = round(ns * max(rows[key], known[key]) / known[key]) if enough else ns
    return found


def _unreleased(model: Model, found: Behind) -> Behind:
    """Add waits that were open at the end, and of long: who has the lock has not ended its transaction.

    A session that was idle in one meanwhile may have it, unless another one was busy all along: that may have it, too.
    """
    end_ns = model.header.start_ns + model.window_ns
    waiting = open_waits(model, LOCK, lambda wait: wait.is_kept_to_the_end, part=general_policy.still_waiting_share)
    holding = open_waits(
        model, EVENTS, lambda wait: wait.is_idle_in_transaction, part=general_policy.still_waiting_share
    )
    if not waiting or not holding or found.claims or _busy_besides(model, {thread.pid for thread, _ in waiting}):
        return found
    holder, hold = min(holding, key=lambda pair: (pair[1].since_ns, pair[0].pid))
    rows = {(row.pid, row.key): row.distribution for row in model.rows_of(LOCK)}
    claims: dict[str | Pair, int] = {}
    for thread, wait in waiting:
        ns, whole = end_ns - wait.since_ns, rows.get((thread.pid, wait.object))
        if whole and whole.count <= LOOKS:
            ns = max(ns, whole.sum_ns)  # it looked for a deadlock in between
        ns = min(ns, end_ns - max(hold.since_ns, model.header.start_ns))
        claims[LOCK, wait.object] = claims.get((LOCK, wait.object), 0) + ns
    open_ns = sum(claims.values())
    return Behind(claims, 0, open_ns, {holder.pid: open_ns}, len(holding), len(waiting))


def _busy_besides(model: Model, waiters: Set[int]) -> bool:
    """Return whether a session that does not wait for a lock was busy for as long as others waited at the end."""
    least_ns = general_policy.still_waiting_share * model.window_ns
    busy = (
        sum(total.ns for name, total in thread.accounts.items() if counted(name) and name != LOCK)
        for thread in model.threads
        if thread.pid in telling(model) and thread.pid not in waiters
    )
    return any(ns >= least_ns for ns in busy)


def name_of(model: Model, pid: int) -> str:
    """Return a session for people."""
    thread = thread_of(model, pid)
    return named(thread.comm, pid) if thread else f"process {pid}"
