"""WAIT-THREAD-IN-REQUEST: requests wait for another thread, on futexes of unknown purpose."""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.diagnosis.evidence.requests.awaited_threads import finding
from perfdiag.diagnosis.evidence.requests.calls import or_unknown, without_time
from perfdiag.diagnosis.evidence.requests.unproven_futex_waits import parked_waits
from perfdiag.diagnosis.evidence.requests.waiting_readers import waiting_readers
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import (
    Check,
    Outcome,
    rule,
)
from perfdiag.diagnosis.significance import percent
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED
from perfdiag.recording.accounts import PARKED


@rule(
    "WAIT-THREAD-IN-REQUEST",
    title="Requests wait for another thread",
    accounts=(PARKED, QUEUED),
    meaning="The thread that serves or reads a request is blocked on a futex until another thread wakes it: for"
    " work it handed over, for an answer it shares, or until a virtual machine lets it continue. The"
    " request waits, too.",
    measured="Time blocked inside requests that one thread served from begin to end, by futex; each wake-up"
    " (sched_waking) shows the awaited thread and what it did. For unread requests, what their reader"
    " waited for. Locks, and threads that wait for each other, are LOCK-CONTENTION; waits behind a slow"
    " disk or peer belong to that finding, and those for sessions of a database to SQL-IDLE-IN-TRANSACTION.",
    alternatives="Requests that are meant to wait for news (long polling); work that other threads do for them.",
    remedies="See what the awaited thread does; shorten what threads do while others wait for them.",
    verify="wait.parked is under 5 % of request time.",
)
def wait_thread_in_request(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each kind of thread that requests wait for during a good part of their time."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, "WAIT-THREAD-IN-REQUEST", "no requests were served")
        return
    known = parked_waits(model, time)
    found = [
        waits
        for waits in known
        if waits.ns >= general_policy.fault_share * time.ns and not waits.in_turn and not waits.holds_locks
    ]
    readers = waiting_readers(model, time)
    for waits in found:
        blocked = finding(model, time, waits)
        if readers and not waits.tids.isdisjoint(readers[1]):  # one cause: its time is one finding's
            unread, readers = readers[0], None
            blocked = replace(
                blocked, claims={**blocked.claims, **unread.claims}, evidence=[*blocked.evidence, *unread.evidence[:1]]
            )
        yield blocked
    if readers:
        yield readers[0]
    if not found and not readers:
        part = sum(waits.ns for waits in known) / time.ns
        text = f"requests wait {percent(part)} of their time for other threads"
        yield or_unknown(time, Check("WAIT-THREAD-IN-REQUEST", text, part, "share"))
