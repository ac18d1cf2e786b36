"""Rules on requests that lie unread while who reads them is with no other one."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.findings.base import Check, Confidence, Finding, Outcome, Severity, rule
from perfdiag.findings.calls import without_time
from perfdiag.findings.target import again
from perfdiag.findings.unread import (
    HELD_UP_NS,
    delays_of,
    hardly_unread,
    is_held_up,
    meanwhile,
    not_followed,
    read_after,
    unread_ns,
)
from perfdiag.findings.weigh import FAULT_SHARE, duration, fix, judged
from perfdiag.model import Model
from perfdiag.requests import QUEUED

ELSEWHERE, DEAF = "READER-ELSEWHERE", "READER-NOT-LISTENING"


@rule(
    ELSEWHERE,
    title="Who reads requests is with something else",
    accounts=(QUEUED,),
    meaning="Requests have arrived, and the thread that then reads them, or makes the one that does, is with no request"
    " meanwhile: it sleeps, computes or waits for something of its own before it comes to them.",
    measured="Over the window: time from a request's first byte in the socket until it was read, as far as the line of"
    " time of the thread that read it has it in something else than requests. What it waits for a CPU, or for long for"
    " a disk, a peer or a lock, is those findings'.",
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
    queued = unread_ns(time, sum(time.met.others.values()) - time.met.taken)
    if queued < FAULT_SHARE * time.ns or not is_held_up(model):
        yield hardly_unread(ELSEWHERE, time, queued)
        return
    delays = delays_of(model)
    does = max(time.met.others, key=lambda name: time.met.others[name])
    confidence, limits = judged(model, Confidence.HIGH, [])
    yield Finding(
        ELSEWHERE,
        Severity.WARNING,
        confidence,
        f"Requests wait up to {duration(delays.max_ns)} to be read, as who reads them is with something else, mostly in"
        f" {does}.",
        {QUEUED: queued},
        [read_after(delays), meanwhile(time.met)],
        [fix("see what that thread does before it reads, or accepts; give that to one that serves nobody")],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
    )


@rule(
    DEAF,
    title="Who could read requests does not listen to them",
    accounts=(QUEUED,),
    meaning="Requests have arrived, and the thread that then reads them waits idly for something else meanwhile:"
    " nothing of what it listens to is theirs. As a rule that is a limit: on connections, or on requests at a time, and"
    " who has reached it stops listening until something is finished; or back-pressure.",
    measured="Over the window: time from a request's first byte in the socket until it was read, as far as the thread"
    " that read it was idle meanwhile (waiting for events, connections or work), and was not woken for that request.",
    alternatives="A wake-up that was lost: a program asks for edges (EPOLLET, EPOLLONESHOT) and does not read all.",
    remedies="Find the limit (connections of a worker, requests at a time) and raise it, if what it protects can take"
    " more; else make what fills it shorter.",
    verify="perfdiag latency again: the delay until requests are read.",
)
def reader_not_listening(model: Model) -> Iterable[Outcome]:
    """One finding where requests wait while their reader is idle."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, DEAF, "no requests were served")
        return
    if not time.by.followed:
        yield not_followed(DEAF, time)
        return
    queued = unread_ns(time, time.met.unheard)
    if queued < FAULT_SHARE * time.ns or not is_held_up(model):
        yield hardly_unread(DEAF, time, queued)
        return
    delays = delays_of(model)
    confidence, limits = judged(model, Confidence.MEDIUM, [])
    yield Finding(
        DEAF,
        Severity.WARNING,
        confidence,
        f"Requests wait up to {duration(delays.max_ns)} to be read, while who reads them is idle and does not listen to"
        " them: a limit of connections, or of requests at a time, is reached, or input is held back.",
        {QUEUED: queued},
        [read_after(delays), meanwhile(time.met)],
        [fix("find that limit and raise it, if what it protects can take more; else shorten what fills it")],
        alternatives=["a wake-up that was lost (EPOLLET, EPOLLONESHOT and not all was read)"],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
    )


__all__ = ["reader_elsewhere", "reader_not_listening"]
