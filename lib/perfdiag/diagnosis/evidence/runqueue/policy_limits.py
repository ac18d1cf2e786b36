"""Threads that their scheduling policy holds back: a reservation (SCHED_DEADLINE) or the limit of real-time threads."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.main_work import need_less
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.target import sysctl
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Finding, Mechanism, Remedy
from perfdiag.diagnosis.significance import duration, fix, plain, together, total_ns, waits, worth
from perfdiag.facts.texts import number
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger

ACCOUNT = "runq.throttled"
RESERVATION, REALTIME = "deadline", "realtime"  # objects of the account
RUNTIME, PERIOD = "kernel/sched_rt_runtime_us", "kernel/sched_rt_period_us"


def of_policies(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Split the waits in runq.throttled into those by a policy, and those by a quota of a group."""
    by_policy: list[Row] = []
    by_quota: list[Row] = []
    for row in rows:
        (by_policy if row.key in (RESERVATION, REALTIME) else by_quota).append(row)
    return by_policy, by_quota


def held_by_policy(model: Model) -> list[Finding]:
    """Return the findings that such waits are worth.  Nobody else is to blame: such threads go before all others, and
    their CPU may be idle meanwhile."""
    return [
        make(model, rows)
        for key, make in ((RESERVATION, _reservation), (REALTIME, _realtime))
        if worth(model, total_ns(rows := model.rows_of(ACCOUNT, key=key)))
    ]


def _reservation(model: Model, rows: Sequence[Row]) -> Finding:
    ns = total_ns(rows)
    return conclude(
        model,
        {(ACCOUNT, RESERVATION): ns},
        headline="Threads are stopped by their own SCHED_DEADLINE reservation",
        claim=(
            f"Runnable threads were stopped for {duration(ns)} until their next period: they had used up the"
            " runtime that they reserved for this one (SCHED_DEADLINE)."
        ),
        mechanism=Mechanism.LIMIT,
        evidence=[waits(together(rows), "waits for the next period")],
        remedies=[_more_runtime(model, rows), *need_less(model)],
        alternatives=["the reservation is right: it keeps the CPU free for others"],
        verify=time_under(model, ACCOUNT),
    )


def _more_runtime(model: Model, rows: Sequence[Row]) -> Remedy:
    thread = _longest_held(model, rows)
    if thread:
        who, tid = f"thread {plain(thread.comm)} ({thread.tid})", str(thread.tid)
    else:
        who, tid = "the threads that ps -eLo tid,cls,comm shows as DLN", "TID"
    return fix(
        f"let {who} reserve more of each period: chrt -p {tid} shows runtime, deadline and period;"
        f" chrt -d --sched-runtime NS --sched-deadline NS --sched-period NS -p 0 {tid} sets them"
    )


def _longest_held(model: Model, rows: Sequence[Row]) -> ThreadLedger | None:
    """Return the living thread of a process that was held back longest; None where that may have been otherwise."""
    pid, key = rows[0].pid, rows[0].key
    if any(row.key != key for row in model.rows_of(ACCOUNT, pid=pid)):
        return None
    living = [each for each in model.threads_of(pid) if each.tid and not each.exited and each.ns(ACCOUNT)]
    return max(living, key=lambda each: each.ns(ACCOUNT), default=None)


def _realtime(model: Model, rows: Sequence[Row]) -> Finding:
    ns, limit = total_ns(rows), _limit(model)
    left = f"{limit[0] / 1000:g} of each {limit[1] / 1000:g} ms" if limit else "a part of each period"
    return conclude(
        model,
        {(ACCOUNT, REALTIME): ns},
        headline=f"The kernel lets real-time threads run only {left} on a CPU",
        claim=(
            f"Runnable real-time threads were stopped for {duration(ns)} until the next period: those of their CPU may"
            f" run {left} (sched_rt_runtime_us), and that was used up."
        ),
        mechanism=Mechanism.LIMIT,
        evidence=[waits(together(rows), "waits for the next period")],
        remedies=[*_raised(limit), _ordinary(model, rows), *need_less(model)],
        alternatives=["the limit is right: without it a thread in an endless loop takes the CPU from all others"],
        verify=time_under(model, ACCOUNT),
    )


def _limit(model: Model) -> tuple[int, int] | None:
    """Return the runtime left to real-time threads and its period, us; None where they are unknown or no limit."""
    runtime, period = (number(model.facts.sysctl(name)) for name in (RUNTIME, PERIOD))
    return (runtime, period) if runtime is not None and runtime >= 0 and period else None


def _raised(limit: tuple[int, int] | None) -> list[Remedy]:
    """Return the trial of the kernel's own default, where less is left to real-time threads."""
    if limit is None or limit[0] >= _default_us(limit[1]):
        return []
    return [sysctl(RUNTIME.replace("/", "."), _default_us(limit[1]), limit[0])]


def _default_us(period_us: int) -> int:
    """Return the part of a period that kernels leave to real-time threads unless told otherwise (kernel/sched/rt.c)."""
    return period_us * 95 // 100


def _ordinary(model: Model, rows: Sequence[Row]) -> Remedy:
    thread = _longest_held(model, rows)
    who = f"thread {plain(thread.comm)} ({thread.tid})" if thread else "the threads that compute for long"
    tid = str(thread.tid) if thread else "TID"
    return fix(f"take {who} out of the real-time policies: chrt -o -p 0 {tid}")
