"""Threads that look with short pauses, many times a request, whether what it needs is there."""

from dataclasses import dataclass

from perfdiag.common.units import first_of
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import duration, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.model.thread_accounts import ThreadLedger

TIMER = "wait.timer"
_SHOWN = 2


@dataclass(frozen=True)
class Polling:
    """What threads that serve requests look for is not known: who computes meanwhile may make it."""

    pause_ns: int  # on average
    busy: list[ThreadLedger]  # threads of the target that serve nobody and compute most of the time

    def evidence(self, window_ns: int) -> list[Evidence]:
        """Return who computes meanwhile."""
        if not self.busy:
            return []
        shares = [f"{each.name} {percent(_cpu_ns(each) / window_ns)} of the window" for each in self.busy]
        most = _cpu_ns(self.busy[0]) / window_ns
        return [Evidence(f"meanwhile computes: {first_of(shares, _SHOWN)}", most, "share", "ledger")]

    def what(self) -> str:
        """Return what they may wait for."""
        if not self.busy:
            return "what they look for takes that long"
        return f"what they look for takes that long; {first_of([each.name for each in self.busy], _SHOWN)} may make it"

    def saved(self) -> str:
        """Return how much of a request the pauses themselves cost."""
        return f"without pauses a request takes {duration(self.pause_ns)} less at the most"


def polling(model: Model, time: RequestTime) -> Polling | None:
    """Return that the threads that read requests sleep many times in each, and each time for a small part of it."""
    sleeps = [each.accounts[TIMER] for each in model.threads if each.requests_read and TIMER in each.accounts]
    count, ns = sum(each.count for each in sleeps), sum(each.ns for each in sleeps)
    if not time.count or count < requests_policy.polls_of_request * time.count:
        return None
    if ns / count > requests_policy.poll_share * time.ns / time.count:
        return None
    most_ns = requests_policy.polled_for_share * model.window_ns
    busy = [each for each in model.threads if not each.requests_read and _cpu_ns(each) >= most_ns]
    return Polling(ns // count, sorted(busy, key=lambda each: -_cpu_ns(each)))


def _cpu_ns(thread: ThreadLedger) -> int:
    return thread.ns("cpu.user", "cpu.kernel")
