"""TARGET-STOPPED: processes are stopped, traced or frozen, and requests wait for them."""

from collections.abc import Iterable, Sequence

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.requests.calls import without_time
from perfdiag.diagnosis.evidence.stops import SHOWN, STOPPED, Stop, stops, what_to_find, who_and_remedy
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, idle_policy, requests_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix, percent
from perfdiag.model.model import Model

ID = "TARGET-STOPPED"


@rule(
    ID,
    title="A process of the target is stopped",
    accounts=(STOPPED,),
    meaning="A process is stopped by a signal (SIGSTOP, Ctrl-Z), held by a debugger or tracer, or frozen with its"
    " control group (docker pause, systemctl freeze, a snapshot or checkpoint). It does nothing, and"
    " everything that waits for it waits longer.",
    measured="How long threads were stopped (wait.stopped), from a tenth of the window on, with State and TracerPid"
    " of /proc/PID/status and cgroup.events (freezer.state) of its control group; of requests, in the thread that"
    " serves or would read them.",
    alternatives="None: the kernel itself keeps the thread from running. A signal, a tracer and a freezer are told"
    " apart; who sent the signal is not recorded.",
    remedies="Let it continue: kill -CONT, detach the debugger, thaw the control group. Find out who stops it:"
    " container snapshots, a debugger or core dumper, a supervisor, a CPU limit by signals (cpulimit).",
    verify="Threads and requests are not stopped (wait.stopped).",
    one_process=True,
)
def target_stopped(model: Model) -> Iterable[Outcome]:
    """Yield a finding if requests, or a process, are stopped for a good part of their time."""
    time, stopped = model.request_time if model.measured("requests") else None, stops(model)
    ns = time.accounts.get(STOPPED, 0) if time else 0
    many = model.accounts[STOPPED].count if STOPPED in model.accounts else 0
    if time and ns >= general_policy.fault_share * time.ns and model.ns(STOPPED) >= requests_policy.held_up_ns * many:
        yield _of_requests(model, ns, stopped)
    elif stopped:
        yield _of_processes(model, stopped)
    elif time:
        part = ns / time.ns
        yield Check(ID, f"requests wait {percent(part)} of their time for stopped threads", part, "share")
    else:
        yield without_time(model, ID, "no requests were served that a stop could delay")


def _of_requests(model: Model, ns: int, stopped: Sequence[Stop]) -> Finding:
    lasting = [stop for stop in stopped if stop.lasts_ns]
    by, remedy = who_and_remedy(model, [stop.pid for stop in lasting]) if lasting else ("", "")
    who = f"{first_of([stop.name for stop in lasting], 1)}, stopped by {by}" if lasting else "stopped threads"
    finds = "find out who stops it: docker pause, systemctl freeze, snapshots, a debugger, cpulimit, SIGSTOP"
    return conclude(
        model,
        {STOPPED: model.ns(STOPPED)},
        severity=Severity.WARNING,
        headline=f"Requests wait for {who}",
        claim=f"Requests wait {duration(ns)} for threads that a signal, a debugger or a freezer stopped.",
        mechanism=Mechanism.STOPPED,
        evidence=[Evidence(_who(model), float(model.ns(STOPPED)), "ns", "ledger")],
        remedies=[fix(each) for each in (remedy, finds) if each],
        verify=measured(model, "no wait.stopped in request time"),
    )


def _of_processes(model: Model, stopped: Sequence[Stop]) -> Finding:
    """Name the processes that are still stopped; nothing shows who stopped those that continued."""
    first, pids, total_ns = stopped[0], [stop.pid for stop in stopped], sum(stop.total_ns for stop in stopped)
    by, remedy = who_and_remedy(model, pids)
    be = ("is" if first.lasts_ns else "was") if len(pids) == 1 else ("are" if first.lasts_ns else "were")
    names = first_of([stop.name for stop in stopped], SHOWN)
    continued = "" if first.lasts_ns else ", and continued"
    return conclude(
        model,
        {STOPPED: total_ns},
        severity=_severity(model, first),
        headline=f"{names} {be} stopped by {by}",
        claim=f"{names} {be} stopped for {duration(first.ns)} of {duration(model.window_ns)} by {by}{continued}.",
        mechanism=Mechanism.STOPPED,
        evidence=[Evidence(_who(model), float(total_ns), "ns", "ledger")],
        remedies=[fix(remedy if first.lasts_ns else what_to_find(model, pids))],
        verify=measured(model, "no thread in wait.stopped"),
    )


def _severity(model: Model, first: Stop) -> Severity:
    """Return a warning for a process that is stopped now, for longer than a moment, or was for much of the window, but
    not by a tracer at each of its calls: that is TARGET-TRACED."""
    process = model.facts.processes.get(first.pid)
    now = first.lasts_ns >= idle_policy.stopped_felt_share * model.window_ns
    long = first.ns >= idle_policy.stopped_share * model.window_ns and not (process and process.tracer)
    return Severity.WARNING if now or long else Severity.INFO


def _who(model: Model) -> str:
    """Return how often and how long the threads were stopped, the longest first."""
    threads = sorted((t for t in model.threads if t.ns(STOPPED)), key=lambda t: (-t.ns(STOPPED), t.tid))
    told = [f"{t.name} {duration(t.ns(STOPPED))}, {t.accounts[STOPPED].count} times" for t in threads]
    return f"stopped: {first_of(told, SHOWN)}"
