"""READER-NOT-LISTENING: requests are not read although their reader is idle."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import read_in_time
from perfdiag.diagnosis.evidence.local.refused_descriptors import are_refused
from perfdiag.diagnosis.evidence.requests.unread_time import (
    delays_of,
    find_limit,
    followed_time,
    hardly_unread,
    meanwhile,
    not_accepted_ns,
    read_after,
    unread_ns,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Confidence, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.recording.levels import TOLD_BELOW, told_as

NOT_LISTENING = "READER-NOT-LISTENING"


@rule(
    NOT_LISTENING,
    title="An idle thread does not listen to waiting requests",
    accounts=(QUEUED,),
    meaning="Requests have arrived, and the thread that reads them later waits idly for something else meanwhile."
    " Usually a limit on connections or concurrent requests is reached, so that the thread stops listening;"
    " or input is held back (back-pressure).",
    measured="Time from a request's first byte in the socket until it was read, as far as the reading thread was"
    " idle (waiting for events, connections or work) and not woken for that request. A thread that waits in epoll"
    " for the answers to calls alone is idle, too, where more calls are under way than threads: it makes none that"
    " blocks, and what it has let in is under way.",
    alternatives="A lost wake-up: a program uses EPOLLET or EPOLLONESHOT and does not read everything.",
    remedies="Find the limit (connections of a worker, concurrent requests) and raise it, if what it protects can"
    " take more; else shorten what fills it.",
    verify="Requests are read within 20 ms.",
    whole=True,
)
def reader_not_listening(model: Model) -> Iterable[Outcome]:
    """Yield a finding if requests wait while their reader is idle."""
    time = followed_time(model, NOT_LISTENING)
    if not isinstance(time, RequestTime):
        yield time
        return
    queued = not_accepted_ns(model)
    if not queued or are_refused(model):  # of descriptors: then this is why: FD-EXHAUSTION
        yield hardly_unread(NOT_LISTENING, time, unread_ns(time, time.met.unheard))
        return
    delays, most = delays_of(model), _limit(model)
    limit = f"a limit of {most} at a time" if most else "a limit"
    yield conclude(
        model,
        {QUEUED: queued},
        headline=f"Requests wait although their reader is idle: {limit} keeps it from accepting them",
        claim=(
            f"Requests wait up to {duration(delays.max_ns)} to be read, while the thread that reads them is idle"
            " and does not listen to them: a limit of connections or concurrent requests is reached, or input is held"
            " back."
        ),
        mechanism=Mechanism.LIMIT,
        severity=Severity.WARNING,
        best=Confidence.MEDIUM,
        evidence=[read_after(delays), meanwhile(time.by)],
        remedies=[fix(find_limit(model))],
        alternatives=["a lost wake-up (EPOLLET or EPOLLONESHOT without reading everything)"],
        verify=read_in_time(model),
    )


def _limit(model: Model) -> int:
    """Return how many requests at a time are let in; 0 where they are not mostly as many, or one."""
    inside = model.requests_inside
    levels = {each.level: each.sum_ns for each in inside.levels} if inside else {}
    most = inside.most if inside else 0
    return most if 1 < most < TOLD_BELOW and 2 * levels.get(told_as(most), 0) >= sum(levels.values()) else 0
