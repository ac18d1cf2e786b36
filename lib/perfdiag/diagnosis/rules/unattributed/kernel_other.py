"""A rule on waits in the kernel that only the name of the call tells."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.debuggers import with_stacks
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import (
    Check,
    Mechanism,
    Outcome,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    by_key,
    claims_of,
    duration,
    fix,
    percent,
    plain,
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
# A quarter of the busy time in calls no other rule knows is worth somebody's look, whatever they are.
LARGE_SHARE = 0.25
_FIFO = "whether it opens a FIFO is not known: waiting for work looks the same as waiting for an answer"
_PERHAPS = "; if of a FIFO, cannot tell whether for work or for an answer"
_OTHER_END = "a FIFO whose other end nobody opened yet: cannot tell whether it waits for work or for an answer"


@rule(
    "KERNEL-OTHER",
    title="Blocked in the kernel for a reason only its name tells",
    accounts=(OTHER,),
    meaning="Threads are blocked in system calls that belong to no other account: exec, exit, RCU (membarrier), tty,"
    " device ioctl, userfaultfd. The object names the call or kernel function. It is profile,"
    " unless it is a quarter of the busy time. Receiving from a message queue, netlink, a device or a terminal, semop"
    " and the opening of a FIFO wait for work or for an answer, cannot tell which, and are wait.parked.",
    measured="Waits of kernel.other by object over the window; that what was opened is a FIFO is told by sampled"
    " stacks. An opening without any is profile.",
    alternatives="A driver that is slow; a debugger or terminal that does not read; a FIFO whose other end nobody"
    " opened yet, which waits for work or for an answer.",
    remedies="Look up what the call named does; sampled wait stacks show the way to it.",
    verify="perfdiag latency again: kernel.other.",
)
def kernel_other(model: Model) -> Iterable[Outcome]:
    """Name the largest objects of kernel.other; senders to message queues have a rule of their own."""
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
    large = named and taken_ns - total_ns(opened) >= LARGE_SHARE * model.busy_ns
    yield conclude(
        model,
        claims_of(rows),
        headline="Threads are blocked in the kernel for other reasons",
        claim=(
            f"{duration(taken_ns)} blocked in the kernel for other reasons: "
            f"{top(names) if named else 'cannot tell in which calls'}{_PERHAPS if fifo else ''}."
        ),
        mechanism=Mechanism.UNDETERMINED if fifo or not named else Mechanism.OTHERS,
        severity=Severity.WARNING if large else Severity.INFO,
        doubts=["" if named else "which call it is was not recorded", _FIFO if fifo else ""],
        evidence=[waits(together(rows), "waits"), waits(together(largest), f"of them in {next(iter(names))}")],
        remedies=[fix(with_stacks(model, "shows which code waits there, and in which kernel function"))],
        alternatives=[_OTHER_END] * fifo + ["a slow driver", "a debugger or terminal that does not read"],
        verify=f"{again(model)}: kernel.other",
    )


def _fine(model: Model, taken_ns: int) -> Check | Silence:
    share = taken_ns / model.busy_ns if model.busy_ns else 0.0
    said = f"other waits in the kernel {percent(share)} of busy time"
    return without_rows(model, "KERNEL-OTHER", OTHER) or Check("KERNEL-OTHER", said, share, "share")


def _may_be_fifo(model: Model, row: Row) -> bool:
    """Return whether no stack tells what it is whose opening takes so long."""
    opens = row.key.startswith(CALL) and row.key.removeprefix(CALL) in OPEN
    return opens and not any(stack.kernel for stack in model.wait_stacks(OTHER, key=row.key))


__all__ = ["kernel_other"]
