"""READER-ELSEWHERE: requests are not read while their reader does something else."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import read_in_time
from perfdiag.diagnosis.evidence.requests.unread_time import (
    delays_of,
    followed_time,
    hardly_unread,
    is_felt,
    meanwhile,
    read_after,
    unread_ns,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.recording.accounts import phrase_of

ELSEWHERE = "READER-ELSEWHERE"


@rule(
    ELSEWHERE,
    title="The thread that reads requests does something else",
    accounts=(QUEUED,),
    meaning="Requests have arrived, but the thread that reads them (or starts the thread that does) serves no"
    " request meanwhile: it sleeps, computes or waits for something of its own.",
    measured="Time from a request's first byte in the socket until it was read, as far as the reading thread (or"
    " the thread that started it) served no request meanwhile. Waits for a CPU, and long waits for a disk,"
    " a peer or a lock, belong to their own findings.",
    alternatives="The work belongs to a request that another thread has read (a queue inside the program).",
    remedies="Move that work to a thread that serves no requests.",
    verify="Requests are read within 20 ms.",
    met=False,
)
def reader_elsewhere(model: Model) -> Iterable[Outcome]:
    """Yield a finding if requests wait for a thread that does something of its own; event loops have LOOP-BLOCKED."""
    time = followed_time(model, ELSEWHERE)
    if not isinstance(time, RequestTime):
        yield time
        return
    if time.by.loop:
        yield Check(ELSEWHERE, "event loops read requests: see LOOP-BLOCKED", 0.0, "count")
        return
    queued = unread_ns(time, sum(time.met.elsewhere.values()))
    if not is_felt(model, time, queued):
        yield hardly_unread(ELSEWHERE, time, queued)
        return
    delays = delays_of(model)
    does = max(time.met.elsewhere, key=lambda name: time.met.elsewhere[name])
    yield conclude(
        model,
        {QUEUED: queued},
        headline=f"The thread that reads requests does something else ({phrase_of(does)})",
        claim=(
            f"Requests wait up to {duration(delays.max_ns)} to be read: the thread that reads them does something else,"
            f" mostly {phrase_of(does)}."
        ),
        mechanism=Mechanism.BUSY,
        severity=Severity.WARNING,
        evidence=[read_after(delays), meanwhile(time.by)],
        remedies=[
            fix("see what that thread does before it reads or accepts; move that to a thread that serves no requests")
        ],
        verify=read_in_time(model),
    )
