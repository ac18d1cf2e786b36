"""A rule on requests that are being slept through."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Severity, rule
from perfdiag.findings.calls import without_time
from perfdiag.findings.target import again
from perfdiag.findings.weigh import FAULT_SHARE, duration, fix, judged, percent
from perfdiag.model import Model

TIMER = "wait.timer"


@rule(
    "WAIT-TIMER-IN-REQUEST",
    title="Requests wait for a sleep",
    accounts=(TIMER,),
    meaning="The thread that serves a request sleeps for a chosen time in the middle of it: a retry with a pause, a"
    " poll of something that could wake it instead, a limit on the rate. Nobody else can give that time back.",
    measured="wait.timer inside requests: between the arrival of a request and the last byte of its answer, in the"
    " thread that serves it, over the window.",
    alternatives="A sleep that is meant: a limit on how much a client may ask.",
    remedies="Do not sleep while a request waits, nor while holding a lock. Where the sleep is a pause before asking"
    " again: wait for the thing itself (an event, a condition, a descriptor).",
    verify="perfdiag latency again: wait.timer in the requests' time.",
)
def wait_timer_in_request(model: Model) -> Iterable[Outcome]:
    """One finding where sleeping is a good part of the requests' time."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, "WAIT-TIMER-IN-REQUEST", "no requests were served that could sleep")
        return
    ns = time.accounts.get(TIMER, 0)
    part = ns / time.ns
    if part < FAULT_SHARE:
        yield Check("WAIT-TIMER-IN-REQUEST", f"requests sleep {percent(part)} of their time", part, "share")
        return
    confidence, limits = judged(model, Confidence.HIGH, [])
    yield Finding(
        "WAIT-TIMER-IN-REQUEST",
        Severity.WARNING,
        confidence,
        f"Requests are slept through by their own threads: {duration(ns)} of {duration(time.ns)}.",
        {TIMER: model.ns(TIMER)},
        [Evidence(f"{duration(ns // time.count)} of sleep a request, on average", float(ns), "ns", "ledger")],
        [
            fix(
                "do not sleep while a request waits, nor while holding a lock; if it asks again after a pause: wait for"
                " the thing itself (an event, a condition, a descriptor)"
            )
        ],
        alternatives=["a limit on the rate of requests that is meant"],
        limits=limits,
        verify=f"{again(model)}: requests sleep less",
    )


__all__ = ["wait_timer_in_request"]
