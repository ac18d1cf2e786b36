"""A rule on requests that are not read while their reader does something else."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.requests.calls import without_time
from perfdiag.diagnosis.evidence.requests.unread_time import (
    HELD_UP_NS,
    delays_of,
    hardly_unread,
    is_held_up,
    meanwhile,
    not_followed,
    read_after,
    unread_ns,
)
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import FAULT_SHARE, duration, fix, judged
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED

ELSEWHERE = "READER-ELSEWHERE"


@rule(
    ELSEWHERE,
    title="Who reads requests is with something else",
    accounts=(QUEUED,),
    meaning="Requests have arrived, and the thread that then reads them, or makes the one that does, is with no request"
    " meanwhile: it sleeps, computes or waits for something of its own before it comes to them.",
    measured="Over the window: time from a request's first byte in the socket until it was read, as far as the line of"
    " time of the thread that read it has it in something else than requests; that of a new thread goes on with its"
    " maker's. What it waits for a CPU, or for long for a disk, a peer or a lock, is those findings'.",
    alternatives="Work that belongs to a request which another thread has read (a queue inside the program).",
    remedies="Give that work to a thread that serves nobody.",
    verify="perfdiag latency again: the delay until requests are read.",
)
def reader_elsewhere(model: Model) -> Iterable[Outcome]:
    """One finding where requests wait for a thread that does something of its own; event loops have LOOP-BLOCKED."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, ELSEWHERE, "no requests were served")
        return
    if not time.by.followed:
        yield not_followed(ELSEWHERE, time)
        return
    if time.by.loop:
        yield Check(ELSEWHERE, "event loops read requests: see LOOP-BLOCKED", 0.0, "count")
        return
    queued = unread_ns(time, sum(time.met.elsewhere.values()))
    if queued < FAULT_SHARE * time.ns or not is_held_up(model):
        yield hardly_unread(ELSEWHERE, time, queued)
        return
    delays = delays_of(model)
    does = max(time.met.elsewhere, key=lambda name: time.met.elsewhere[name])
    confidence, limits = judged(model, Confidence.HIGH, [])
    yield Finding(
        ELSEWHERE,
        Severity.WARNING,
        confidence,
        f"Requests wait up to {duration(delays.max_ns)} to be read, as who reads them is with something else, mostly in"
        f" {does}.",
        {QUEUED: queued},
        [read_after(delays), meanwhile(time.by)],
        [fix("see what that thread does before it reads, or accepts; give that to one that serves nobody")],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
        headline=f"Whoever reads requests is busy with something else ({does})",
        mechanism=Mechanism.BUSY,
    )


__all__ = ["reader_elsewhere"]
