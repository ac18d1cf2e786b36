"""Threads that hand work to each other on one CPU: each waits, ready to run, until the other has left it."""

from __future__ import annotations

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.runqueue.competition import all_ns, claims, felt, long_ns
from perfdiag.diagnosis.evidence.runqueue.whole_host import host
from perfdiag.diagnosis.evidence.target import again, widened_affinity
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix, judged, together, waits
from perfdiag.model.model import Model, Row

ID = "CPU-OVERSUBSCRIBED"
# A price of handing over is paid everywhere: from a fifth of the busy time on it is what a target mostly does.
HANDED_SHARE = 0.2
# Nearly all of it must be waits that are as short as handing over takes.
SHORT_PART = 0.9
# So many of them must begin with a wake-up by a thread of the target.
WOKEN_PART = 0.5


def handovers(model: Model, own: Sequence[Row]) -> Finding | None:
    """Return the profile of waits behind own threads that are all short, None where they are little of the time."""
    long = long_ns(own)
    short = {key: ns - long.get(key, 0) for key, ns in all_ns(own).items()}
    ns, whole = sum(short.values()), together(own)
    if not felt(model, ns) or ns < HANDED_SHARE * model.busy_ns or ns < SHORT_PART * whole.sum_ns:
        return None
    woken = _woken(model)
    if woken < WOKEN_PART * whole.count:
        return None  # they take turns, by yielding or preemption
    confidence, limits = judged(model, Confidence.HIGH)
    wider = widened_affinity(model)
    return Finding(
        ID,
        Severity.INFO,
        confidence,
        f"Own threads hand work to each other on one CPU: each time the one that was woken waits until its waker has"
        f" left it, {duration(ns)} together.",
        claims({key: part for key, part in short.items() if part}),
        [
            waits(whole, "waits behind own threads, each no longer than a hand-over takes"),
            Evidence(f"own threads ended {woken:,} waits of each other", float(woken), "count", "sched_waking"),
            *host(model),
        ],
        [
            *([wider] if wider else []),
            fix(
                "hand over less often: several messages at a time, larger pieces of work, or one thread that does both"
            ),
        ],
        alternatives=["threads that wake each other for every message, as asked and answered questions do"],
        limits=limits,
        verify=f"{again(model)}: runq.busy behind own threads",
        headline="Threads hand work to each other on one CPU",
        mechanism=Mechanism.MANY,
    )


def _woken(model: Model) -> int:
    """Return how many waits of the target its own threads ended, as far as their wakers are known."""
    own = {thread.tid for thread in model.threads} - {0}
    return sum(row.waker_count for row in model.rows if row.waker_tid in own)


__all__ = ["ID", "handovers"]
