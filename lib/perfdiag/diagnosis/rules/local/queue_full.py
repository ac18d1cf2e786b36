"""QUEUE-FULL: senders wait for room in a message queue."""

from collections.abc import Iterable

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.locks.outside_wakers import ended_by
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import (
    brief,
    claims_of,
    duration,
    fault,
    fix,
    little,
    plain,
    thread_of,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.waits.receiving_calls import QUEUE_SENDS

ID, OTHER, ASLEEP = "QUEUE-FULL", "kernel.other", "wait.timer"


@rule(
    ID,
    title="Senders wait for room in a message queue",
    accounts=(OTHER,),
    meaning="Threads wait in mq_send() or msgsnd() until a reader takes a message out of the full queue: the reader"
    " is slower than the senders. If that reader is a thread of the target that works, its own findings"
    " show the cause.",
    measured="Waits in mq_timedsend and msgsnd over the window, and the thread that ended them (sched_waking): the"
    " reader of a message wakes a sender. The queue itself was not recorded.",
    alternatives="A burst of messages larger than the queue.",
    remedies="Measure the reader; run more readers. A larger queue helps only against bursts.",
    verify="No more waits in mq_timedsend or msgsnd (kernel.other).",
    beats=("KERNEL-OTHER",),
)
def queue_full(model: Model) -> Iterable[Outcome]:
    """One finding for all queues: rows do not tell them apart."""
    rows = [row for row in model.rows_of(OTHER) if row.key in QUEUE_SENDS]
    ns = total_ns(rows)
    if worth(model, ns):
        yield _finding(model, rows)
    else:
        yield little(model, ID, "sending to full message queues", ns)


def _finding(model: Model, rows: list[Row]) -> Finding:
    whole, reader = together(rows), _reader(rows)
    own = thread_of(model, reader) if reader else None
    sleeps = own is not None and own.ns(ASLEEP) >= local_policy.queue_reader_sleeps_share * own.wall_ns
    comm = plain(own.comm if own else next((row.waker_comm for row in rows if row.waker_tid == reader), ""))
    who = "its reader"
    evidence = [waits(whole, "waits for room in a message queue")]
    if reader:
        who = own.name if own else ended_by(model, rows, reader)
        evidence.append(
            Evidence(f"{who}, which takes messages, ended most of these waits", reader, "tid", "sched_waking")
        )
    limit = "" if reader else "it is unknown who reads the queue: no thread ends half of the waits"
    pids = sorted({row.pid for row in rows} - {0})
    look = f"see which queue it is: ls -l /proc/{pids[0] if pids else 'PID'}/fd (POSIX), ipcs -q -p (System V)"
    does = "sleeps on a timer between messages" if sleeps else "reads messages slowly"
    measured = "; other findings show what it does meanwhile" if own and not sleeps else ""
    return conclude(
        model,
        claims_of(rows),
        headline=f"Senders wait for room in a message queue; {brief(who)} {'sleeps' if sleeps else 'reads slowly'}",
        claim=f"Senders wait {duration(whole.sum_ns)} for room in a message queue: {who} {does}{measured}.",
        mechanism=Mechanism.OTHERS if measured else Mechanism.SLEEP if sleeps else Mechanism.SLOW,
        severity=Severity.INFO if measured else fault(model, whole.sum_ns),
        doubts=[limit],
        evidence=evidence,
        remedies=[
            fix(f"measure the reader: perfdiag latency --pid {reader}" if reader else f"{look}, and measure its reader")
        ],
        alternatives=["a burst of messages larger than the queue"],
        verify=time_under(model, "kernel.other"),
        others=[Other(reader, comm, Relation.PEER)] if reader else [],
    )


def _reader(rows: list[Row]) -> int:
    """Return the thread that ended at least half of the waits, or 0."""
    ended = sums_by_key((row.waker_tid, row.waker_count) for row in rows if row.waker_tid)
    tid, count = max(ended.items(), key=lambda item: item[1], default=(0, 0))
    return tid if count and count >= local_policy.queue_reader_share * together(rows).count else 0
