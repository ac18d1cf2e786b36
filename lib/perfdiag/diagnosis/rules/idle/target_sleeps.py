"""A rule on threads that sleep on a timer."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.idle.sleeps import TIMER, sleep
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model

ID = "TARGET-SLEEPS"


@rule(
    ID,
    title="Threads sleep on a timer",
    accounts=(TIMER,),
    meaning="Threads sleep for a time that the program chose. Others that wait for such a thread wait for its sleep. A"
    " thread that looks after something from time to time needs no fix.",
    measured="wait.timer by thread over the window, if that is 2 % of the window or more than all busy time; sampled"
    " stacks name the function that sleeps. The clocks of runtimes do not count, nor do sleeps between two attempts to"
    " get a database's lock. If the target serves requests, only threads count that also talk to others.",
    alternatives="A thread has no other work.",
    remedies="Shorten the sleep, or wait for the event itself.",
    verify="In the next report, the threads sleep less (wait.timer).",
    one_process=True,
)
def target_sleeps(model: Model) -> Iterable[Outcome]:
    """Yield one finding of all threads that sleep; of requests other rules say what they wait for."""
    found = None if model.request_time else sleep(model, talking=any(each.served for each in model.exchanges))
    if found is None:
        ns = model.ns(TIMER)
        yield Check(ID, f"threads sleep {duration(ns)} on a timer, nobody is known to wait for it", float(ns), "ns")
        return
    yield conclude(
        model,
        {TIMER: found.ns},
        severity=Severity.INFO,
        headline=found.headline,
        claim=f"The longest sleep of a thread takes {duration(found.felt_ns)} of the window.",
        mechanism=Mechanism.SLEEP,
        evidence=[Evidence(f"busy for {duration(found.busy_ns)} meanwhile", float(found.busy_ns), "ns", "ledger")],
        remedies=[fix(each) for each in (found.advice, found.look) if each],
        verify=f"{again(model)}: less of {TIMER}",
    )


__all__ = ["target_sleeps"]
