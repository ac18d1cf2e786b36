"""TARGET-TRACED: a tracer such as strace or gdb stops the target again and again."""

from collections.abc import Iterable, Mapping

from perfdiag.common.text import named
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.runqueue.competition import comm_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, local_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, together, total_ns, waits
from perfdiag.facts.texts import number
from perfdiag.model.model import Model, Row

ID, STOPPED = "TARGET-TRACED", "wait.stopped"


@rule(
    ID,
    title="A tracer stops the target again and again",
    accounts=(STOPPED,),
    meaning="strace, gdb or another user of ptrace(2) is attached. Each system call it traces stops the thread twice,"
    " and the thread goes on only when the tracer has run.",
    measured="TracerPid of /proc/PID/status when the window begins and ends; how long and how often threads were"
    " stopped (wait.stopped); waits for a CPU on which the tracer ran.",
    alternatives="Stops by signals (cpulimit) in the same window.",
    remedies="Detach the tracer. To watch system calls at less cost, use perf trace or bpftrace.",
    verify="TracerPid in /proc/PID/status is 0.",
    beats=("TARGET-STOPPED",),
)
def target_traced(model: Model) -> Iterable[Outcome]:
    """Join the tracer of each process with the stops of its threads."""
    if not model.facts.processes:
        yield Silence(ID, "/proc/PID/status was not recorded", "run grep TracerPid /proc/PID/status")
        return
    tracers = _tracers(model)
    traced = [t for t in model.threads if t.pid in tracers and STOPPED in t.accounts]
    stops, stopped_ns = sum(t.accounts[STOPPED].count for t in traced), sum(t.ns(STOPPED) for t in traced)
    if not tracers or stops * 1_000_000_000 < local_policy.tracer_stops_per_second * model.window_ns:
        state = f"{len(tracers)} traced, {stops} stops" if tracers else "no tracer"
        yield Check(ID, state, float(stops), "count")
        return
    behind = [row for row in model.rows_of("runq.busy") if _pid_of(row) in tracers.values()]
    yield _finding(model, tracers, stops, stopped_ns, behind)


def _tracers(model: Model) -> Mapping[int, int]:
    """Return the tracer of each traced process, both as pids."""
    return {pid: process.tracer for pid, process in model.facts.processes.items() if process.tracer}


def _pid_of(row: Row) -> int:
    """Return the process of "task:PID:COMM", 0 for any other key."""
    kind, _, rest = row.key.partition(":")
    return (number(rest.partition(":")[0]) or 0) if kind == "task" else 0


def _finding(model: Model, tracers: Mapping[int, int], stops: int, stopped_ns: int, behind: list[Row]) -> Finding:
    names = {_pid_of(row): comm_of(row.key) for row in behind}
    others = [Other(pid, names.get(pid, ""), Relation.TRACER) for pid in sorted(set(tracers.values()))]
    who = named(others[0].comm, others[0].pid) if others[0].comm else f"process {others[0].pid}"
    lost_ns = stopped_ns + total_ns(behind)
    share = lost_ns / max(1, model.busy_ns + stopped_ns)
    felt = share >= general_policy.fault_share and lost_ns >= general_policy.fault_of_window_share * model.window_ns
    counted = f"{stops:,} stops took {duration(stopped_ns)}, {percent(share)} of busy and stopped time"
    evidence = [Evidence(counted, float(stopped_ns), "ns", "ledger")]
    if behind:
        evidence.append(waits(together(behind), f"waits for a CPU on which {who} ran"))
    return conclude(
        model,
        {STOPPED: stopped_ns},
        headline=f"{who} traces {subject(model)} and stops its threads",
        claim=f"{who} traces {subject(model)} and stopped its threads {stops:,} times, for {duration(stopped_ns)}.",
        mechanism=Mechanism.STOPPED,
        severity=Severity.WARNING if felt else Severity.INFO,
        evidence=evidence,
        remedies=[fix(f"end {who}, or detach it in the debugger")],
        verify=checked(f"grep TracerPid /proc/{min(tracers)}/status", f"TracerPid: 0, now {others[0].pid}"),
        others=others,
    )
