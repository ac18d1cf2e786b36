"""Processes of the target that crashed in the window: who waits for them, or starts them anew, waits for that, too."""

from dataclasses import dataclass

from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import plain
from perfdiag.model.model import Model, once

# SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: a program did what it must not; others end it from outside.
_OWN_FAULTS = frozenset({4, 5, 6, 7, 8, 11, 31})
_SHOWN = 2


@dataclass(frozen=True)
class Crashes:
    """All of them."""

    pids: frozenset[int]
    names: str  # "python3 (SIGABRT)"
    dumped: int  # of how many the core was dumped

    @property
    def words(self) -> str:
        """Return it in words: "3 processes crashed, 3 with a core dump: python3 (SIGABRT)"."""
        cores = f", {self.dumped:,} with a core dump" if self.dumped else ""
        return f"{plural(len(self.pids), 'process')} crashed{cores}: {self.names}"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        return Evidence(self.words, float(len(self.pids)), "count", "sched_switch")

    @property
    def remedy(self) -> str:
        """Return what helps."""
        look = "find out why they crash (coredumpctl list, their log)"
        smaller = "; to write a core takes time: a smaller one, or none (ulimit -c 0, LimitCORE=0, coredump_filter)"
        return look + smaller * bool(self.dumped)


@once
def crashes(model: Model) -> Crashes | None:
    """Return the processes that ended by a signal of their own fault, or with a core dump; None where none did."""
    found = [each for each in model.events if each.signal in _OWN_FAULTS or each.core_dumped]
    if not found:
        return None
    names = dict.fromkeys(f"{plain(each.by_comm)} ({plain(each.text)})" for each in found)
    pids = frozenset(each.pid for each in found)
    return Crashes(pids, first_of(list(names), _SHOWN), sum(each.core_dumped for each in found))
