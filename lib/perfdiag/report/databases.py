"""Waits of databases that look idle and are for locks: how long they took, as far as stacks show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from perfdiag import schema
from perfdiag.hiddenlocks import HIDDEN_LOCKS, POSTGRES, HiddenLock
from perfdiag.model import Model
from perfdiag.report import shape
from perfdiag.symbols import is_named
from perfdiag.text import printable
from perfdiag.units import about, plural

FELT = 0.1  # of the window or of the busy time: less is not worth a word
_POSTGRES = frozenset({"postgres", "postmaster"})


@dataclass(frozen=True)
class Hidden:
    """Waits that are, or where no stack tells may be, for the locks of a database."""

    ns: int  # of the time that looks idle: what sampled stacks prove
    sentence: str
    tells: str  # a sentence: what shows who holds them


def leading(model: Model) -> Hidden | None:
    """Return them where they may be much of what the target does."""
    proven = max((_proven(model, kind) for kind in HIDDEN_LOCKS), key=lambda hidden: hidden.ns)
    if proven.ns >= FELT * max(model.window_ns, model.busy_ns):
        return proven
    if not _untold(model) or model.ns(POSTGRES.account) <= model.busy_ns:
        return None
    sentence = "PostgreSQL waits for row and table locks as it waits for clients, and no stack shows for which it does."
    return Hidden(0, sentence, f"To tell: {POSTGRES.tells}.")


def waits_for_lock(stack: schema.Stack) -> bool:
    """Return whether a stack is of such a wait."""
    return any(kind.waited_in(stack) for kind in HIDDEN_LOCKS)


def not_measured(model: Model) -> list[shape.NotMeasured]:
    """Return that such waits are counted as idle, of each kind that there are or may be."""
    return [
        shape.NotMeasured(
            what=f"waits for {kind.name} among {kind.account}",
            reason="they look like waits for work or time and are counted as idle",
            fix=kind.command,
            ids=[],
        )
        for kind in HIDDEN_LOCKS
        if _proven(model, kind).ns or (kind is POSTGRES and _untold(model))
    ]


def _proven(model: Model, kind: HiddenLock) -> Hidden:
    """Return what stacks prove of one kind: of the idle time of each process the part of its samples."""
    sampled: Counter[int] = Counter()
    locked: Counter[int] = Counter()
    functions: Counter[str] = Counter()
    for stack in model.wait_stacks(kind.account):
        weight_ns = stack.weight_ns or 1
        sampled[stack.pid] += weight_ns
        if function := kind.waited_in(stack):
            locked[stack.pid] += weight_ns
            functions[function] += weight_ns
    idle = _idle_ns(model, kind.account)
    waits = {pid: round(idle[pid] * locked[pid] / sampled[pid]) if pid in idle else locked[pid] for pid in locked}
    most = max(waits.values(), default=0)
    pids = [pid for pid, ns in waits.items() if ns >= FELT * most]  # others waited for a moment only
    ns = sum(waits[pid] for pid in pids)
    function = max(functions, key=lambda name: (is_named(name), functions[name], name), default="")
    where = f" ({printable(function)})" if is_named(function) else ""
    waited = f"{_who(model, kind, pids)} for {kind.name}{where}, {about(ns)} of idle time by samples"
    return Hidden(ns, f"{waited}: {kind.cause}.", f"To tell: {kind.tells}.")


def _who(model: Model, kind: HiddenLock, pids: list[int]) -> str:
    if len(pids) != 1:
        return f"{plural(len(pids), kind.who)} wait"
    comm = next((thread.comm for thread in model.threads if thread.pid == pids[0]), kind.who)
    return f"{printable(comm)} ({pids[0]}) waits"


def _idle_ns(model: Model, account: str) -> Counter[int]:
    """Return the time in an account by process; exited ones may have none of their own."""
    idle: Counter[int] = Counter()
    for thread in model.threads:
        if thread.pid and account in thread.accounts:
            idle[thread.pid] += thread.accounts[account].ns
    return idle


def _untold(model: Model) -> bool:
    """Return whether a PostgreSQL waits of which stacks show neither locks nor clients."""
    servers = {thread.pid for thread in model.threads if thread.comm in _POSTGRES}
    waiting = servers & _idle_ns(model, POSTGRES.account).keys()
    stacks = [s for s in model.stacks if s.pid in waiting and (s.kind, s.account) == ("wait", POSTGRES.account)]
    readable = any(POSTGRES.would_show((*stack.user, *stack.scan)) for stack in stacks)
    return bool(waiting) and not (readable and waiting <= {stack.pid for stack in stacks})


__all__ = ["Hidden", "leading", "not_measured", "waits_for_lock"]
