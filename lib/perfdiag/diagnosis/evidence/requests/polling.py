"""Threads that look with short pauses, many times a request, whether what it needs is there."""

from dataclasses import dataclass

from perfdiag.common.units import first_of
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import duration, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import TIMER

_SHOWN = 2


@dataclass(frozen=True)
class Polling:
    """Threads that serve requests look for something that a thread of the target may make, which computes meanwhile."""

    pause_ns: int  # on average
    busy: list[ThreadLedger]  # threads of the target that serve nobody and compute most of the time

    def evidence(self, window_ns: int) -> list[Evidence]:
        """Return which threads compute meanwhile."""
        shares = [f"{each.name} {percent(_cpu_ns(each) / window_ns)} of the window" for each in self.busy]
        most = _cpu_ns(self.busy[0]) / window_ns
        return [Evidence(f"meanwhile computes: {first_of(shares, _SHOWN)}", most, "share", "ledger")]

    def what(self) -> str:
        """Return what they may wait for."""
        return f"{first_of([each.name for each in self.busy], _SHOWN)} may make what they look for"

    def saved(self) -> str:
        """Return how much of a request the pauses themselves cost, if that is so."""
        return f"if they only look for what it makes, pauses cost {duration(self.pause_ns)} a request at the most"


def polling(model: Model, time: RequestTime) -> Polling | None:
    """Return that the threads that read requests sleep many times in each, and each time for a small part of it, while
    another thread computes. Who throttles itself, or works in pieces, sleeps like that beside nobody."""
    sleeps = [each.accounts[TIMER] for each in model.threads if each.requests_read and TIMER in each.accounts]
    count, ns = sum(each.count for each in sleeps), sum(each.ns for each in sleeps)
    if not time.count or not model.window_ns or count < requests_policy.polls_of_request * time.count:
        return None
    if 2 * time.accounts.get(TIMER, 0) <= ns:  # they sleep between requests
        return None
    if ns / count > requests_policy.poll_share * time.ns / time.count:
        return None
    most_ns = requests_policy.polled_for_share * model.window_ns
    busy = [each for each in model.threads if not each.requests_read and _cpu_ns(each) >= most_ns]
    if not busy:
        return None
    return Polling(ns // count, sorted(busy, key=lambda each: -_cpu_ns(each)))


def _cpu_ns(thread: ThreadLedger) -> int:
    return thread.ns("cpu.user", "cpu.kernel")
