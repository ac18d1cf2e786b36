"""A rule on requests that wait because who serves them is stopped, traced or frozen."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.requests.calls import without_time
from perfdiag.diagnosis.evidence.requests.unread_time import HELD_UP_NS
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import FAULT_SHARE, duration, fix, judged, percent, plain
from perfdiag.model.model import Model

ID, STOPPED = "TARGET-STOPPED", "wait.stopped"
SHOWN = 3


@rule(
    ID,
    title="Requests wait for a process that is stopped",
    accounts=(STOPPED,),
    meaning="Who serves requests is stopped by a signal (SIGSTOP, Ctrl-Z), held by a debugger or tracer, or frozen with"
    " its control group (docker pause, systemctl freeze, a snapshot or checkpoint). It does nothing meanwhile, and"
    " whoever has asked it waits.",
    measured="wait.stopped inside requests over the window: in the thread that serves one, and, while one lies unread,"
    " in the thread that then reads it, or would.",
    alternatives="None: the kernel itself keeps the thread from running. Who asked for it is not recorded.",
    remedies="Find who stops it: snapshots and checkpoints of the container, a debugger or core dumper that attaches, a"
    " supervisor or a limit of CPU time by signals (cpulimit).",
    verify="perfdiag latency again: wait.stopped in the requests' time.",
)
def target_stopped(model: Model) -> Iterable[Outcome]:
    """One finding where a good part of the requests' time is spent stopped."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, ID, "no requests were served that a stop could have held up")
        return
    ns = time.accounts.get(STOPPED, 0)
    stops = model.accounts[STOPPED].count if STOPPED in model.accounts else 0
    if ns < FAULT_SHARE * time.ns or model.ns(STOPPED) < HELD_UP_NS * stops:
        yield Check(
            ID, f"requests wait {percent(ns / time.ns)} of their time for who is stopped", ns / time.ns, "share"
        )
        return
    confidence, limits = judged(model, Confidence.HIGH, [])
    yield Finding(
        ID,
        Severity.WARNING,
        confidence,
        f"Requests wait {duration(ns)} for threads that are stopped by a signal, a debugger or a freezer.",
        {STOPPED: model.ns(STOPPED)},
        [Evidence(_who(model), float(model.ns(STOPPED)), "ns", "ledger")],
        [fix("find who stops it: docker pause, systemctl freeze, snapshots, a debugger, cpulimit, SIGSTOP")],
        limits=limits,
        verify=f"{again(model)}: no wait.stopped in the requests' time",
        headline="Requests wait for threads that are stopped",
        mechanism=Mechanism.STOPPED,
    )


def _who(model: Model) -> str:
    """Return how often the threads were stopped, those for longest first."""
    threads = sorted((t for t in model.threads if t.ns(STOPPED)), key=lambda t: (-t.ns(STOPPED), t.tid))
    told = [f"{plain(t.comm)} ({t.tid}) {duration(t.ns(STOPPED))}, {t.accounts[STOPPED].count} times" for t in threads]
    return f"stopped: {first_of(told, SHOWN)}"


__all__ = ["target_stopped"]
