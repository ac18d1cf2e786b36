"""KERNEL-OTHER: threads are blocked in the kernel, and only the name of the system call tells why."""

from collections.abc import Iterable, Mapping, Sequence

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.kernel_work import awaited, awaited_in
from perfdiag.diagnosis.evidence.cpu.kernel_work_kinds import Kind
from perfdiag.diagnosis.evidence.debuggers import with_stacks
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    brief,
    by_key,
    claims_of,
    duration,
    fix,
    little,
    plain,
    thread_of,
    together,
    top,
    total_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.waits.receiving_calls import CALL, OPEN, QUEUE_SENDS

OTHER = "kernel.other"
_FIFO = "it is unknown whether it opens a FIFO: waiting for work looks the same as waiting for an answer"
_PERHAPS = "; if it is a FIFO, it is unknown whether it waits for work or for an answer"
_UNNAMED = ["a slow driver", "a debugger or terminal that does not read"]
_OTHER_END = "a FIFO that the other end has not opened: it is unknown whether it waits for work or for an answer"


@rule(
    "KERNEL-OTHER",
    title="Threads are blocked in the kernel for other reasons",
    accounts=(OTHER,),
    meaning="Threads are blocked in system calls that belong to no other account: exec, exit, RCU (membarrier),"
    " tty, device ioctl, userfaultfd. It is a fault from a quarter of the busy time on. Message queues,"
    " netlink, devices, terminals, semop and opening a FIFO count as blocked or idle (wait.parked) instead:"
    " they may wait for work or for an answer.",
    measured="Other waits in the kernel by system call. Sampled stacks show whether a FIFO was"
    " opened; an open without a sample is no fault.",
    alternatives="A slow driver; a debugger or terminal that does not read; a FIFO that the other end has not opened.",
    remedies="Look up what the named call does; sampled wait stacks show where it waits.",
    verify="kernel.other is under 5 % of busy time.",
)
def kernel_other(model: Model) -> Iterable[Outcome]:
    """Name the largest waits; senders to message queues have a rule of their own."""
    rows = [row for row in model.rows_of(OTHER) if row.key not in QUEUE_SENDS]
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield _fine(model, taken_ns)
        return
    groups = by_key(rows)
    names = {plain(group[0].object or key[1] or "not named"): total_ns(group) for key, group in groups.items()}
    largest = next(iter(groups.values()))
    opened = [row for row in rows if _may_be_fifo(model, row)]
    fifo = 2 * total_ns(opened) > taken_ns
    named = bool(largest[0].key)  # a script does not tell, and what it cannot tell apart is in here, too
    large = named and taken_ns - total_ns(opened) >= general_policy.kernel_other_share * model.busy_ns
    kind = _awaited(model, largest[0].key)
    who, ended = _ended_by(largest)
    other = who is not None and not model.threads_of(who.pid) and thread_of(model, who.pid) is None
    answers = who if kind and kind.answered else None
    whom = f", {kind.name}{f' ({answers.comm}, {answers.pid})' if answers else ''}" if kind else ""
    yield conclude(
        model,
        claims_of(rows),
        headline=_headline(names, taken_ns, whom) if named else "Threads are blocked in the kernel, in unknown calls",
        claim=(
            f"Threads are blocked for {duration(taken_ns)} in the kernel:"
            f" {top(names) if named else 'in unknown calls'}{whom}{_PERHAPS if fifo else ''}."
        ),
        mechanism=Mechanism.UNDETERMINED if fifo or not named else Mechanism.OTHERS,
        severity=Severity.WARNING if large else Severity.INFO,
        doubts=["" if named else "the name of the call was not recorded", _FIFO if fifo else ""],
        evidence=[
            waits(together(rows), "waits"),
            waits(together(largest), f"of them in {next(iter(names))}"),
            *(
                [Evidence(f"{who.comm} ({who.pid}) ended at least {ended:,} of those", ended, "count", "sched_waking")]
                if who
                else []
            ),
        ],
        remedies=[
            *([fix(f"measure who answers: perfdiag latency --pid {answers.pid}")] if answers and other else []),
            *([fix(kind.remedy)] if kind and kind.remedy else []),
            fix(with_stacks(model, "shows which code waits there, and in which kernel function")),
        ],
        alternatives=[_OTHER_END] * fifo + ([] if kind else _UNNAMED),
        verify=time_under(model, OTHER),
    )


def _awaited(model: Model, key: str) -> Kind | None:
    """Return what waits on an object are for, by what they are booked to or by sampled stacks; None: not known."""
    function = key.removeprefix("function:") if key.startswith("function:") else ""
    return (awaited_in(function) if function else None) or (awaited(model.wait_stacks(OTHER, key=key)) if key else None)


def _headline(names: Mapping[str, int], taken_ns: int, whom: str) -> str:
    """Return the headline with the call that has most of the waiting, and what that is for, else with the largest
    two."""
    first, *others = sorted(names, key=lambda name: (-names[name], name))
    calls = first if 2 * names[first] > taken_ns else " and ".join([first, *others[:1]])
    return f"Threads are blocked in the kernel in {brief(calls)}{whom}"


def _ended_by(rows: Sequence[Row]) -> tuple[Other | None, int]:
    """Return whose threads ended most of these waits, and how many; None where no process did, or nobody was asked for
    its name.  A thread stands for its process where that is not known."""
    ended = sums_by_key(
        ((row.waker_comm, row.waker_pid or row.waker_tid), row.waker_count) for row in rows if row.waker_comm
    )
    (comm, pid), count = next(iter(ended.most_common(1)), (("", 0), 0))
    who = Other(pid, brief(plain(comm)), Relation.PEER) if comm and 2 * count > together(rows).count else None
    return who, count


def _fine(model: Model, taken_ns: int) -> Check | Silence:
    unknown = without_rows(model, "KERNEL-OTHER", OTHER)
    return unknown or little(model, "KERNEL-OTHER", "other waits in the kernel", taken_ns)


def _may_be_fifo(model: Model, row: Row) -> bool:
    """Return whether no stack tells whether a FIFO is opened."""
    opens = row.key.startswith(CALL) and row.key.removeprefix(CALL) in OPEN
    return opens and not any(stack.kernel for stack in model.wait_stacks(OTHER, key=row.key))
