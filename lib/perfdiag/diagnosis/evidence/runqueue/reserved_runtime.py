"""Threads that wait for their next period: they used up what they reserved of this one (SCHED_DEADLINE)."""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.cpu.main_work import need_less
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Finding, Mechanism, Remedy
from perfdiag.diagnosis.significance import duration, fix, plain, together, total_ns, waits, worth
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger

OBJECT = "deadline"


def reserved_rows(model: Model) -> list[Row]:
    """Return the waits of threads that are held back by their own reservation, not by a quota of their group."""
    return model.rows_of("runq.throttled", key=OBJECT)


def used_up(model: Model, rows: Sequence[Row]) -> list[Finding]:
    """Return the finding that such waits are worth, if any.  Nobody else is to blame: such a thread goes before all
    that have reserved nothing, and its CPU may be idle meanwhile."""
    ns = total_ns(rows)
    if not worth(model, ns):
        return []
    return [
        conclude(
            model,
            {("runq.throttled", OBJECT): ns},
            headline="Threads are stopped by their own SCHED_DEADLINE reservation",
            claim=(
                f"Runnable threads were stopped for {duration(ns)} until their next period: they had used up the"
                " runtime that they reserved for this one (SCHED_DEADLINE)."
            ),
            mechanism=Mechanism.LIMIT,
            evidence=[waits(together(rows), "waits for the next period")],
            remedies=[_more_runtime(model, rows), *need_less(model)],
            alternatives=["the reservation is right: it keeps the CPU free for others"],
            verify=time_under(model, "runq.throttled"),
        )
    ]


def _more_runtime(model: Model, rows: Sequence[Row]) -> Remedy:
    thread = _longest_held(model, rows[0].pid)
    if thread:
        who, tid = f"thread {plain(thread.comm)} ({thread.tid})", str(thread.tid)
    else:
        who, tid = "the threads that ps -eLo tid,cls,comm shows as DLN", "TID"
    return fix(
        f"let {who} reserve more of each period: chrt -p {tid} shows runtime, deadline and period;"
        f" chrt -d --sched-runtime NS --sched-deadline NS --sched-period NS -p 0 {tid} sets them"
    )


def _longest_held(model: Model, pid: int) -> ThreadLedger | None:
    """Return the living thread of a process that was held back longest; None where that may have been by a quota."""
    if any(row.key != OBJECT for row in model.rows_of("runq.throttled", pid=pid)):
        return None
    living = [each for each in model.threads_of(pid) if each.tid and not each.exited and each.ns("runq.throttled")]
    return max(living, key=lambda each: each.ns("runq.throttled"), default=None)
