"""PROC-CRASHED: processes of the target were ended by a signal of their own fault."""

from collections.abc import Iterable

from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import local_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import duration, fix, plain
from perfdiag.model.model import Model
from perfdiag.recording import schema

# SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: a program did what it must not; others end it from outside.
_OWN_FAULTS = frozenset({4, 5, 6, 7, 8, 11, 31})
_NAMED = 2


@rule(
    "PROC-CRASHED",
    title="Processes crash",
    accounts=(),
    meaning="Processes of the target ended in the window by a signal of their own fault, such as SIGSEGV or SIGABRT, or"
    " with a core dump. Their requests are lost, and whoever waits for them waits until the core is written.",
    measured="The signal that ended a process, and whether its core was dumped, from the kernel at its exit. A signal"
    " from another process, such as SIGTERM, counts only with a core dump.",
    alternatives="A test that makes programs crash.",
    remedies="Find out why from its core or its log. Writing a core of gigabytes takes seconds: make it smaller, or"
    " write none.",
    verify="No process of the target ends by such a signal.",
    one_process=True,
)
def proc_crashed(model: Model) -> Iterable[Outcome]:
    """Yield one finding on all crashes: it claims no time."""
    crashed = [each for each in model.events if each.signal in _OWN_FAULTS or each.core_dumped]
    if crashed:
        yield _finding(model, crashed)
    elif model.header.engine != schema.OWN_ENGINE:
        yield Silence("PROC-CRASHED", "scripts do not record how processes end", "record with perfdiag itself")
    elif model.coverage.lost.get("ring_buffer"):
        yield Silence("PROC-CRASHED", "events were lost, perhaps the ends of processes", "record again")
    else:
        yield Check("PROC-CRASHED", "no process crashed", 0.0, "count")


def _severity(model: Model, crashed: int) -> Severity:
    ended = sum(thread.processes for thread in model.threads if thread.exited)
    return Severity.CRITICAL if crashed >= local_policy.crashes_share * ended else Severity.WARNING


def _by_what(crashed: list[schema.Event]) -> str:
    """Return what ended them: SIGQUIT and limits of resources dump a core, too, and are no mistake of the program."""
    own = {each.pid for each in crashed if each.signal in _OWN_FAULTS}
    other = len({each.pid for each in crashed} - own)
    told = [f"{len(own):,} ended by a signal that a program's own mistake raises"] if own else []
    return ", ".join([*told, *([f"{other:,} ended with a core dump by another signal"] if other else [])])


def _finding(model: Model, crashed: list[schema.Event]) -> Finding:
    processes, dumped = len({each.pid for each in crashed}), sum(each.core_dumped for each in crashed)
    names = list(dict.fromkeys(f"{plain(each.by_comm)} ({plain(each.text)})" for each in crashed))
    cores = f", {'each' if dumped == processes > 1 else f'{dumped:,}'} with a core dump" if dumped else ""
    many = plural(processes, "process")
    look = fix("find out why: coredumpctl info, gdb on the core, or the log of the process")
    smaller = fix("once you know why, write smaller cores, or none (coredump_filter, ulimit -c, LimitCORE=)")
    return conclude(
        model,
        {},
        headline=f"{many} crashed{cores}: {first_of(names, _NAMED)}",
        claim=f"{many} of {subject(model)} crashed in {duration(model.window_ns)}{cores}: {first_of(names, _NAMED)}.",
        mechanism=Mechanism.FAILED,
        severity=_severity(model, processes),
        evidence=[Evidence(_by_what(crashed), float(processes), "count", "signal")],
        remedies=[look, smaller] if dumped else [look],
        alternatives=["a test that makes programs crash", "another process sent that signal, as a watchdog does"],
        verify="no process ends by such a signal",
    )
