"""TTY-NOT-READ: writers wait until a terminal takes their output."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import (
    by_key,
    claims_of,
    duration,
    fault,
    fix,
    little,
    percent,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row

OTHER = "kernel.other"
# Kernel functions in which a writer waits for room at a terminal, or for another writer that does; the second since
# Linux 5.12, the third before.
WRITING = frozenset({"n_tty_write", "file_tty_write", "do_tty_write"})


@rule(
    "TTY-NOT-READ",
    title="Writing to a terminal waits for its reader",
    accounts=(OTHER,),
    meaning="Threads wait in write() until a terminal takes their output: its reader (a terminal program, ssh, a"
    " container's log driver) is slow or stopped (Ctrl-S), or the line itself is slow (a serial console).",
    measured="Waits in the kernel by system call, if nine tenths of their sampled kernel stacks are in a write to a"
    " terminal (n_tty_write, file_tty_write). The terminal itself was not recorded.",
    alternatives="A serial console, which takes at most 11,520 characters a second.",
    remedies="Write to a file or a pipe instead; let the reader of the terminal continue.",
    verify="No more waits in write() (kernel.other).",
    beats=("KERNEL-OTHER",),
)
def not_read(model: Model) -> Iterable[Outcome]:
    """Yield one finding for all system calls whose sampled stacks are in the terminal driver."""
    groups = by_key(model.rows_of(OTHER)).values()
    sampled = [
        (part, group) for group in groups if (part := _in_terminal(model, group)) >= local_policy.terminal_samples_share
    ]
    rows = [row for _, group in sampled for row in group]
    ns = total_ns(rows)
    if worth(model, ns):
        yield _finding(model, rows, min(part for part, _ in sampled))
    elif not worth(model, model.ns(OTHER)):
        yield little(model, "TTY-NOT-READ", "writing to terminals", ns)


def _in_terminal(model: Model, rows: list[Row]) -> float:
    sampled = [each for each in model.wait_stacks(OTHER, key=rows[0].key) if each.kernel]
    # The first wait of all that has not ended weighs nothing yet.
    whole = sum(each.weight_ns or 1 for each in sampled)
    return sum(each.weight_ns or 1 for each in sampled if not WRITING.isdisjoint(each.kernel)) / whole if whole else 0.0


def _finding(model: Model, rows: list[Row], part: float) -> Finding:
    ns, pids = total_ns(rows), sorted({row.pid for row in rows} - {0})
    return conclude(
        model,
        claims_of(rows),
        headline="Writers wait for a terminal whose reader is slow or stopped",
        claim=f"Writers wait {duration(ns)} until a terminal takes their output: its reader is slow or stopped.",
        mechanism=Mechanism.SLOW,
        severity=fault(model, ns),
        doubts=["sampled stacks tell that it is a terminal"],
        evidence=[
            waits(together(rows), "waits in write()"),
            Evidence(
                f"{percent(part)} of the sampled waits are in a write to a terminal", part, "share", "stack samples"
            ),
        ],
        remedies=[
            fix(
                f"see which terminal it is: ls -l /proc/{pids[0] if pids else 'PID'}/fd (pts/N, tty, console); then"
                " let its reader continue (Ctrl-Q after a Ctrl-S, or restart a terminal program or ssh that hangs)"
            ),
            fix("print less, or print into a file or a pipe whose reader keeps up"),
        ],
        alternatives=["a serial console, which is as slow as its line"],
        verify=time_under(model, "kernel.other"),
    )
