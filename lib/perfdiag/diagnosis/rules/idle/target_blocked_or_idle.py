"""TARGET-BLOCKED-OR-IDLE: threads of an idle target stay blocked or idle all the time."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.debuggers import has_ended, shows_stacks
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.idle.parked_threads import stuck, stuck_or_idle
from perfdiag.diagnosis.evidence.idle.work import is_idle
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.recording.accounts import PARKED

ID = "TARGET-BLOCKED-OR-IDLE"


@rule(
    ID,
    title="Threads stay blocked or idle all the time",
    accounts=(PARKED,),
    meaning="The target was busy for 2 % of the window or less, and threads were in one wait from its beginning to"
    " its end. They are idle, like a pool without work, or deadlocked; no measurement shows which.",
    measured="Threads in one wait (wait.parked) for 99 % of their life in the window. Waits for the end of other"
    " threads, and waits of a runtime for work, do not count.",
    alternatives="A pool of threads without work.",
    remedies="Look at the stacks of the threads.",
    verify="While work is sent, no thread stays blocked.",
    one_process=True,
)
def target_blocked_or_idle(model: Model) -> Iterable[Outcome]:
    """Yield one finding for all such threads of a target that is hardly busy."""
    threads = [] if model.request_time or not is_idle(model) else stuck_or_idle(model)
    ns = sum(thread.ns(PARKED) for thread in threads)
    if not threads:
        yield Check(ID, f"{subject(model)} is not idle, or none of its threads stays blocked", 0.0, "count")
        return
    when = "while it runs: " if has_ended(model) else ""
    yield conclude(
        model,
        {PARKED: ns},
        severity=Severity.INFO,
        headline=stuck(model, threads),
        claim=f"Threads waited {duration(ns)} in waits that did not end.",
        mechanism=Mechanism.UNDETERMINED,
        evidence=[Evidence(f"{duration(ns)} of {PARKED}", float(ns), "ns", "ledger")],
        remedies=[fix(f"{when}{shows_stacks(model, max(threads, key=lambda thread: thread.ns(PARKED)).pid)}")],
        verify=measured(model, "while work is sent, no thread stays blocked"),
    )
