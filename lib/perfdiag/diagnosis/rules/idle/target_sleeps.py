"""TARGET-SLEEPS: threads sleep on a timer."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.idle.sleeps import sleep
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.recording.accounts import TIMER

ID = "TARGET-SLEEPS"


@rule(
    ID,
    title="Threads sleep on a timer",
    accounts=(TIMER,),
    meaning="Threads sleep for a time that the program chose, and whatever waits for them sleeps as long. A thread"
    " that checks something from time to time needs no fix.",
    measured="Sleep by thread (wait.timer), if it is 2 % of the window or more than all busy time; sampled stacks"
    " name the function. The clocks of runtimes, and sleeps between attempts to get a database's lock, do"
    " not count. If the target serves requests, only threads that read some or talk to others count.",
    alternatives="The thread has no other work.",
    remedies="Shorten the sleep, or wait for the event itself.",
    verify="The same work has less wait.timer.",
    one_process=True,
)
def target_sleeps(model: Model) -> Iterable[Outcome]:
    """Yield one finding for all sleeping threads; for requests, other rules say what they wait for."""
    found = None if model.request_time else sleep(model, talking=any(each.served for each in model.exchanges))
    if found is None:
        ns = model.ns(TIMER)
        yield Check(ID, f"threads sleep {duration(ns)} on a timer; nothing is known to wait for them", float(ns), "ns")
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
        verify=less(model, TIMER, found.ns),
    )
