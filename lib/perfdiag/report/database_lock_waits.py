"""Waits of databases that look idle and are for locks: how long they took, as far as stacks show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.text import printable
from perfdiag.common.units import about, plural
from perfdiag.diagnosis.evidence.debuggers import port_option
from perfdiag.diagnosis.evidence.locks.database_locks import idle_ns, proven
from perfdiag.model.model import Model
from perfdiag.model.waits.database_lock_symbols import HIDDEN_LOCKS, POSTGRES, HiddenLock
from perfdiag.recording import schema
from perfdiag.report import contract
from perfdiag.report.to_tell import to_tell

POSTGRES_PORT = 5432
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
    found = max((_proven(model, kind) for kind in HIDDEN_LOCKS), key=lambda hidden: hidden.ns)
    if found.ns >= FELT * max(model.window_ns, model.busy_ns):
        return found
    if not _untold(model) or model.ns(POSTGRES.account) <= model.busy_ns:
        return None
    sentence = "PostgreSQL waits for row and table locks as it waits for clients, and no stack shows for which it does."
    return Hidden(0, sentence, to_tell(POSTGRES.tells))


def waits_for_lock(stack: schema.Stack) -> bool:
    """Return whether a stack is of such a wait."""
    return any(kind.waited_in(stack) for kind in HIDDEN_LOCKS)


def not_measured(model: Model) -> list[contract.NotMeasured]:
    """Return that such waits are counted as idle, of each kind that there are or may be."""
    return [
        contract.NotMeasured(
            what=f"waits for {kind.name} among {kind.account}",
            reason="they look like waits for work or time and are counted as idle",
            fix=kind.command.format(port=port_option(model, " -p {}", POSTGRES_PORT)),
            ids=[],
        )
        for kind in HIDDEN_LOCKS
        if _proven(model, kind).ns or (kind is POSTGRES and _untold(model))
    ]


def _proven(model: Model, kind: HiddenLock) -> Hidden:
    """Return what stacks prove of one kind."""
    waits = proven(model, kind)
    where = f" ({printable(waits.function)})" if waits.function else ""
    waited = f"{_who(model, kind, waits.pids)} for {kind.name}{where}, {about(waits.ns)} of idle time by samples"
    return Hidden(waits.ns, f"{waited}: {kind.cause}.", to_tell(kind.tells))


def _who(model: Model, kind: HiddenLock, pids: Sequence[int]) -> str:
    if len(pids) != 1:
        return f"{plural(len(pids), kind.who)} wait"
    comm = next((thread.comm for thread in model.threads if thread.pid == pids[0]), kind.who)
    return f"{printable(comm)} ({pids[0]}) waits"


def _untold(model: Model) -> bool:
    """Return whether a PostgreSQL waits of which stacks show neither locks nor clients."""
    servers = {thread.pid for thread in model.threads if thread.comm in _POSTGRES}
    waiting = servers & idle_ns(model, POSTGRES.account).keys()
    stacks = [s for s in model.stacks if s.pid in waiting and (s.kind, s.account) == ("wait", POSTGRES.account)]
    readable = any(POSTGRES.would_show((*stack.user, *stack.scan)) for stack in stacks)
    return bool(waiting) and not (readable and waiting <= {stack.pid for stack in stacks})


__all__ = ["Hidden", "leading", "not_measured", "waits_for_lock"]
