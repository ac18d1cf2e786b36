"""Where threads were parked while they served requests, and where evidence of each futex books that.

A thread that is parked in the middle of a request does not idle: the request waits.  What for, the futex tells as it
does anywhere; a thread of a runtime that has nothing to do meanwhile shows only that the request is in other hands.
"""

from __future__ import annotations

from collections import defaultdict

from perfdiag import schema
from perfdiag.chains import brings_news
from perfdiag.futexes import Futexes
from perfdiag.parked import Parked
from perfdiag.reader import Recording
from perfdiag.receiving import PARKED

# A thread that was parked there for less of what those are on average has been there by accident.
OF_MEAN = 0.1


def parked_of(recording: Recording, futexes: Futexes) -> Parked:
    """Return what a recording says of that."""
    alive = {line.pid for line in recording.threads.values() if line.state == "alive"}
    ns: defaultdict[tuple[str, str], int] = defaultdict(int)
    over_slo_ns: defaultdict[tuple[str, str], int] = defaultdict(int)
    for line in recording.requests_parked:
        booking = futexes.booking(line.pid if line.pid in alive else 0, line.object) or (PARKED, line.object)
        ns[booking] += line.sum_ns
        if line.over_slo:
            over_slo_ns[booking] += line.sum_ns
    outside_ns = sum(line.sum_ns for line in recording.because if line.inside and _is_for_news(line))
    return Parked(dict(ns), dict(over_slo_ns), outside_ns, _tids(recording))


def _is_for_news(line: schema.Because) -> bool:
    """Return whether requests waited for who waited for work itself, and then told them of it: long polling."""
    return line.account == PARKED and brings_news(line.root)


def _tids(recording: Recording) -> frozenset[int]:
    """Return the threads that were parked on futexes of requests for about as long as others."""
    inside = {(line.pid, line.object) for line in recording.requests_parked}
    by_tid: defaultdict[int, int] = defaultdict(int)
    for thread in recording.threads.values():
        for futex in thread.futexes:
            if (thread.pid, futex.object) in inside:
                by_tid[thread.tid] += futex.sum_ns
    mean_ns = sum(by_tid.values()) / max(1, len(by_tid))
    return frozenset(tid for tid, ns in by_tid.items() if ns >= OF_MEAN * mean_ns)


__all__ = ["parked_of"]
