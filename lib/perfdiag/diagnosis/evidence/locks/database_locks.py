"""Waits for the locks of a database in calls that look idle: what stacks prove, and whether requests wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import FAULT_OF_WINDOW, FAULT_SHARE, duration, fix, judged, plain
from perfdiag.model.model import Model, once
from perfdiag.model.stacks.symbols import is_named
from perfdiag.model.waits.database_lock_symbols import HIDDEN_LOCKS, HiddenLock

OF_LONGEST = 0.1  # processes that wait for less of what the longest does waited for a moment only


@dataclass(frozen=True)
class Proven:
    """Waits for one kind of lock, as far as sampled stacks prove them."""

    ns: int
    pids: Sequence[int]
    function: str  # in which most of them wait; "" without a name


def proven(model: Model, kind: HiddenLock, among: Set[int] | None = None) -> Proven:
    """Return the waits that stacks prove of one kind: the idle time of each process times the part of its samples."""
    sampled: Counter[int] = Counter()
    locked: Counter[int] = Counter()
    functions: Counter[str] = Counter()
    for stack in model.wait_stacks(kind.account):
        if among is not None and stack.pid not in among:
            continue
        weight_ns = stack.weight_ns or 1
        sampled[stack.pid] += weight_ns
        if function := kind.waited_in(stack):
            locked[stack.pid] += weight_ns
            functions[function] += weight_ns
    idle = idle_ns(model, kind.account)
    waits = {pid: round(idle[pid] * locked[pid] / sampled[pid]) if pid in idle else locked[pid] for pid in locked}
    most = max(waits.values(), default=0)
    pids = [pid for pid, ns in waits.items() if ns >= OF_LONGEST * most]
    function = max(functions, key=lambda name: (is_named(name), functions[name], name), default="")
    return Proven(sum(waits[pid] for pid in pids), pids, function if is_named(function) else "")


@once
def of_serving(model: Model) -> list[tuple[HiddenLock, Proven]]:
    """Return the proven waits of each kind, only of processes that serve clients if those are known."""
    return [(kind, proven(model, kind, _serving(model, kind))) for kind in HIDDEN_LOCKS]


def _serving(model: Model, kind: HiddenLock) -> set[int] | None:
    """Return the processes seen to talk to clients, None if no function shows that: a background process such as an
    autovacuum worker delays no request."""
    if not kind.serves:
        return None
    stacks = model.wait_stacks(kind.account)
    return {stack.pid for stack in stacks if any(kind.serving(names) for names in (stack.user, stack.scan))}


def idle_ns(model: Model, account: str) -> Counter[int]:
    """Return the time in an account by process; ended processes may have none of their own."""
    idle: Counter[int] = Counter()
    for thread in model.threads:
        if thread.pid and account in thread.accounts:
            idle[thread.pid] += thread.accounts[account].ns
    return idle


def database_locks(model: Model) -> Iterable[Finding]:
    """Yield the findings that requests wait for such locks for a good part of their time: part of LOCK-CONTENTION."""
    time = model.request_time
    if time is None:
        return
    for kind, waits in of_serving(model):
        inside_ns = time.accounts.get(kind.account, 0)
        ns = min(inside_ns, waits.ns)  # sessions without a request wait for no lock
        if ns < max(FAULT_SHARE * time.ns, FAULT_OF_WINDOW * model.window_ns):
            continue
        whole = "the part of lock waits is that of the whole window, not of the slow requests alone"
        estimated = ["sampled stacks estimate how long they wait", *([whole] if time.excess else [])]
        confidence, limits = judged(model, Confidence.HIGH, estimated)
        where = f" ({plain(waits.function)})" if waits.function else ""
        yield Finding(
            "LOCK-CONTENTION",
            Severity.WARNING,
            confidence,
            f"Requests wait {duration(ns)} for {kind.name}{where}: {kind.cause}.",
            {kind.account: round(model.ns(kind.account) * ns / inside_ns)},
            [Evidence(f"{duration(ns // time.count)} a request, on average", float(ns), "ns", "stack samples")],
            [fix(f"see who holds them, and why: {kind.tells}; shorten the work under them: {kind.shorter}")],
            alternatives=["many sessions take the same lock in turn, each for a short time"],
            limits=limits,
            verify=f"{again(model)}: requests wait less for them ({kind.account})",
            headline=f"Requests wait for {kind.name}",
            mechanism=Mechanism.BUSY,
        )


__all__ = ["Proven", "database_locks", "idle_ns", "of_serving", "proven"]
