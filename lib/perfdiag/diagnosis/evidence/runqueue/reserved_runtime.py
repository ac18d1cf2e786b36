"""Threads that wait for their next period: they used up what they reserved of this one (SCHED_DEADLINE)."""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.cpu.main_work import need_less
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Finding, Mechanism, Remedy
from perfdiag.diagnosis.significance import duration, fix, plain, together, total_ns, waits, worth
from perfdiag.model.model import Model, Row

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
            remedies=[*_more_runtime(model), *need_less(model)],
            alternatives=["the reservation is right: it keeps the CPU free for others"],
            verify=time_under(model, "runq.throttled"),
        )
    ]


def _more_runtime(model: Model) -> list[Remedy]:
    thread = max(model.threads, key=lambda each: each.ns("runq.throttled"))
    tid = thread.tid or thread.pid
    return [
        fix(
            f"let thread {plain(thread.comm)} ({tid}) reserve more of each period: chrt -p {tid} shows its runtime,"
            " deadline and period; chrt -d --sched-runtime NS --sched-deadline NS --sched-period NS -p 0"
            f" {tid} sets them"
        )
    ]
