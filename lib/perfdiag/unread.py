"""What requests meet that have arrived and are not read: what has findings of its own, or what its reader does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfdiag import schema
from perfdiag.exchanges import Exchange

if TYPE_CHECKING:
    from perfdiag.model import AccountTotal

RUNQ = ("runq.busy", "runq.waking", "runq.throttled", "cpu.stolen")
# So long waits, on average, in these have findings of their own, which know that they are slow: whoever is in one holds
# up those behind, and that is where their time goes.
JUDGED = ("disk.", "nfs.", "net.", "ipc.", "remote.", "memory.", "lock.")
LONG_NS = 10_000_000


@dataclass(frozen=True)
class Met:
    """Parts, by account, of the time in which requests lie unread; what is not known is in neither."""

    passed_on: Mapping[str, float] = field(default_factory=dict)  # what has findings of its own
    others: Mapping[str, float] = field(default_factory=dict)  # what is the reader's own affair

    def at_workers(self) -> Met:
        """Return the same where a worker reads each: one more would have spared the request all that this one was in,
        but for a wait for a CPU, which it would meet, too."""
        waits = {name: part for name, part in self.passed_on.items() if name not in RUNQ}
        passed_on = {name: part for name, part in self.passed_on.items() if name in RUNQ}
        return Met(passed_on, {**self.others, **{name: self.others.get(name, 0.0) + waits[name] for name in waits}})


def has_finding(name: str, total: AccountTotal) -> bool:
    """Return whether time in an account, as long as waits in it are, has findings of its own."""
    return name in RUNQ or (name.startswith(JUDGED) and total.ns >= LONG_NS * max(1, total.count))


def met(
    lines: Iterable[schema.RequestUnread], exchanges: Sequence[Exchange], accounts: Mapping[str, AccountTotal]
) -> Met | None:
    """Return what readers were recorded to be in; None of recordings that do not tell.

    `accounts` are those of the target.  With an objective that some missed it is what those met.  Where a reader waited
    for another thread, that one's account counts if it has findings, else that of the wait.
    """
    served = [each.line for each in exchanges if each.served]
    slow = any(line.over_slo for line in served)
    whole_ns = sum(line.over_slo_read_delay_ns if slow else line.read_delay_ns for line in served)
    parts = [line for line in lines if line.over_slo or not slow]
    if not parts or not whole_ns:
        return None
    passed_on: defaultdict[str, float] = defaultdict(float)
    others: defaultdict[str, float] = defaultdict(float)
    for line in parts:
        named = [name for name in (line.root, line.account) if name in accounts and has_finding(name, accounts[name])]
        if named:
            passed_on[named[0]] += line.sum_ns / whole_ns
        else:
            others[line.account] += line.sum_ns / whole_ns
    return Met(dict(passed_on), dict(others))


__all__ = ["RUNQ", "Met", "has_finding", "met"]
