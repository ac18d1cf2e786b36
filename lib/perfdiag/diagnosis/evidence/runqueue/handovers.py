"""Threads that hand work to each other on one CPU: the woken one waits until its waker leaves it."""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.cpu_affinity import widened_affinity
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.runqueue.competition import all_ns, claims, felt, long_ns
from perfdiag.diagnosis.evidence.runqueue.whole_host import host
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import runqueue_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import duration, fix, together, waits
from perfdiag.model.model import Model, Row

ID = "CPU-OVERSUBSCRIBED"


def handovers(model: Model, own: Sequence[Row]) -> Finding | None:
    """Return the profile of short waits behind own threads, None if they are little."""
    long = long_ns(own)
    short = {key: ns - long.get(key, 0) for key, ns in all_ns(own).items()}
    ns, whole = sum(short.values()), together(own)
    if (
        not felt(model, ns)
        or ns < runqueue_policy.handovers_share * model.busy_ns
        or ns < runqueue_policy.short_waits_share * whole.sum_ns
    ):
        return None
    woken = _woken(model)
    if woken < runqueue_policy.woken_by_target_share * whole.count:
        return None  # they alternate by yielding or preemption
    wider = widened_affinity(model)
    return conclude(
        model,
        claims({key: part for key, part in short.items() if part}),
        headline="Threads hand work to each other on one CPU",
        claim=f"Woken threads waited {duration(ns)} until their waker, another own thread, left the CPU.",
        mechanism=Mechanism.MANY,
        departs=False,
        evidence=[
            waits(whole, "short waits behind own threads"),
            Evidence(f"{woken:,} wake-ups by own threads", float(woken), "count", "sched_waking"),
            *host(model),
        ],
        remedies=[
            *([wider] if wider else []),
            fix("hand over less often: batch messages, use larger pieces of work, or do both jobs in one thread"),
        ],
        alternatives=["request and reply between threads: each message needs a wake-up"],
        verify=fewer(model, "waits behind own threads", whole.count),
    )


def _woken(model: Model) -> int:
    """Return how many of the target's waits its own threads ended, as far as known."""
    own = {thread.tid for thread in model.threads} - {0}
    return sum(row.waker_count for row in model.rows if row.waker_tid in own)
