"""TARGET-IDLE: the target is hardly busy and waits for work."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.idle.work import CHILD, ENDED_BY_OTHERS, is_idle, scheduler, waits
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model

ID = "TARGET-IDLE"


@rule(
    ID,
    title="The target waits for work",
    accounts=ENDED_BY_OTHERS,
    meaning="The target was busy for 2 % of the window or less, and waited for connections, requests, events or"
    " signals, for longer than for child processes. Something outside ends such a wait, usually by sending"
    " work.",
    measured="Idle accounts: net.accept, net.request, vm.halt, wait.work, wait.events, wait.signal.",
    alternatives="It waits for a peer it has called itself: a wait for events does not show whose they are."
    " Requests from before the window may still wait for an answer.",
    remedies="If there should be work, look at its sender.",
    verify="While work is sent, the target is busy for longer.",
    one_process=True,
)
def target_idle(model: Model) -> Iterable[Outcome]:
    """Yield what the target waited for; if it serves requests, other rules say what those wait for."""
    waited = waits(model)
    mostly = waited and model.ns(*ENDED_BY_OTHERS) >= model.ns(CHILD)
    if model.request_time or not is_idle(model) or not mostly:
        yield Check(ID, f"busy for {duration(model.busy_ns)}", float(model.busy_ns), "ns")
        return
    tasks = scheduler(model)
    yield conclude(
        model,
        {name: model.ns(name) for name in ENDED_BY_OTHERS if model.ns(name)},
        severity=Severity.INFO,
        headline=f"{subject(model, begin=True)} has hardly any work",
        claim=f"It was busy for {duration(model.busy_ns)} of thread time.",
        mechanism=Mechanism.OTHERS,
        evidence=[Evidence(f"waited {waited}", float(model.ns(*ENDED_BY_OTHERS)), "ns", "ledger")],
        remedies=[fix(tasks.tells if tasks else "if work should have come, look at who sends it")],
        verify=measured(model, f"while work is sent, busy for more than {duration(model.busy_ns)}"),
    )
