"""Rules on requests that lie unread while who reads them is with no other one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.locks.lock_holders import MAJORITY, ROOTS, SLEEP, does_in_brief
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
from perfdiag.diagnosis.significance import FAULT_SHARE, duration, fix, judged, plain, thread_of
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime

THREAD = "WAIT-THREAD-IN-REQUEST"
ELSEWHERE, DEAF = "READER-ELSEWHERE", "READER-NOT-LISTENING"


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


def waiting_readers(model: Model, time: RequestTime) -> Iterable[Finding]:
    """Return what requests wait to be read while who reads them waits for another thread: WAIT-THREAD-IN-REQUEST."""
    met = time.met
    queued = unread_ns(time, sum(met.behind.values()))
    if time.by.loop or queued < FAULT_SHARE * time.ns or not is_held_up(model):
        return
    delays = delays_of(model)
    root = max(met.behind, key=lambda name: met.behind[name])
    does = ROOTS.get(root, (f"is in {root}", ""))[0]
    who = _waited_for(model, root)
    unseen = "" if who else "which thread that is was not seen, or it is not one"
    confidence, limits = judged(model, Confidence.HIGH, [unseen])
    name = who or "another thread"
    yield Finding(
        THREAD,
        Severity.WARNING,
        confidence,
        f"Requests wait up to {duration(delays.max_ns)} to be read, as who reads them waits for {name}, which mostly"
        f" {does}.",
        {QUEUED: queued},
        [read_after(delays), meanwhile(time.by)],
        [fix(f"see what {name} does, and why those that serve requests have to wait for it")],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
        headline=f"Whoever reads requests waits for {name}, which {does_in_brief(root)}",
        mechanism=Mechanism.SLEEP if root == SLEEP else Mechanism.BUSY,
    )


def _waited_for(model: Model, root: str) -> str:
    """Return the name of the thread that was in `root` while others waited for it, "" where it was not mostly one."""
    ns_by_tid: Counter[int] = Counter()
    for chain in model.chains:
        if chain.root == root and chain.account.startswith(("wait.parked", "lock.")):
            ns_by_tid[chain.root_tid] += chain.ns
    tid, ns = max(ns_by_tid.items(), key=lambda item: item[1], default=(0, 0))
    thread = thread_of(model, tid)
    return f"{plain(thread.comm)} ({tid})" if thread and ns > MAJORITY * ns_by_tid.total() else ""


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
        [read_after(delays), meanwhile(time.by)],
        [fix("find that limit and raise it, if what it protects can take more; else shorten what fills it")],
        alternatives=["a wake-up that was lost (EPOLLET, EPOLLONESHOT and not all was read)"],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
        headline="Whoever reads requests is idle and does not listen to them",
        mechanism=Mechanism.LIMIT,
    )


__all__ = ["reader_elsewhere", "reader_not_listening", "waiting_readers"]
