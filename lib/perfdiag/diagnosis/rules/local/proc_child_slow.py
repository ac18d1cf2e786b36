"""PROC-CHILD-SLOW: a thread waits for child processes, or the target starts them by the thousand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import named
from perfdiag.common.units import counted, first_of
from perfdiag.diagnosis.evidence.fix_checks import less, measured
from perfdiag.diagnosis.evidence.local.process_churn import Churn, churn
from perfdiag.diagnosis.evidence.local.processes_of_requests import waiting_for_processes
from perfdiag.diagnosis.evidence.requests.blocking_calls import holding
from perfdiag.diagnosis.evidence.target import CPU, again, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, local_policy
from perfdiag.diagnosis.rule import Check, Claim, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import duration, fix, percent, plain, top, worth
from perfdiag.model.model import Model
from perfdiag.model.requests.awaited_processes import WAITS, roots_inside
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import Kind, kind_of

CHILD = "wait.child"
SHOWN = 3
NAMED = 2  # of short-lived processes, in a headline


@rule(
    "PROC-CHILD-SLOW",
    title="A thread waits for child processes",
    accounts=(*WAITS, *CPU),
    meaning="A thread waits for child processes. If they belong to the target, their own findings show the cause;"
    " with --only they are not measured. The wait is idle time, except inside a request: it is claimed"
    " there if the children sleep on a timer, or compute and end; then the finding says which programs, and how"
    " many of them a request starts. For many short-lived children, it says how many start a second, and how"
    " much CPU time that takes (fork, exec, loader, exit).",
    measured="Waits for children by thread, and what the children did meanwhile (if unknown: the accounts of"
    " processes with that parent). Many children are 20 ended processes a second that lived under 50 ms on"
    " average; claimed is the sampled part of their CPU time that starts or ends a process, or all of it"
    " up to 1 ms each, and waits at pipes for what they write.",
    alternatives="A supervisor or shell, whose work is to wait.",
    remedies="Read the findings of the children; measure them together with the parent (without --only). Start"
    " fewer processes.",
    verify="The same work waits less for children, or starts fewer processes a second.",
    beats=("CPU-BOUND", "CPU-KERNEL-HEAVY", "IPC-PEER-SLOW"),
    one_process=True,
)
def child_slow(model: Model) -> Iterable[Outcome]:
    """Name the thread that waits longest, and its children; outside of requests the wait claims no time."""
    if slept := _slept_in_requests(model):
        yield _sleeping(model, slept)
        return
    if computing := waiting_for_processes(model):
        yield computing
        return
    many = churn(model)
    if many:
        yield _churn_finding(model, many)
        return
    waiting = [thread for thread in model.threads if CHILD in thread.accounts and thread.tid]
    worst = max(waiting, key=lambda thread: thread.accounts[CHILD].ns, default=None)
    part = worst.accounts[CHILD].ns / model.window_ns if worst and model.window_ns else 0.0
    if worst is None or part < local_policy.child_wait_share:
        yield Check("PROC-CHILD-SLOW", f"waiting for children {percent(part)} of the window", part, "share")
        return
    yield _finding(model, worst)


def _finding(model: Model, worst: ThreadLedger) -> Finding:
    total, who = worst.accounts[CHILD], worst.name
    followed = model.header.options.descendants
    supervising = total.max_ns >= local_policy.supervising_share * model.window_ns
    waits = counted(total.count, "waits for children")
    text = f"{who}: {duration(total.ns)} in {waits}, longest {duration(total.max_ns)}"
    evidence = [Evidence(text, float(total.ns), "ns", "ledger")]
    claim = f"{who} waited {duration(total.ns)} for child processes"
    headline, remedy = f"{who} waits for child processes", "read the findings of the children: they show the cause"
    if followed:
        children = _awaited(model, worst) or _children(model, worst)
        spent = f"{children.who} spent their time as follows: {top(children.sums)}"
        claim += f". {spent if children.sums else 'They did next to nothing'}"
        evidence += children.evidence
        limit = children.limit
    else:
        claim += ", which were not measured (--only)"
        limit = f"the children are outside {subject(model)} and were not measured"
        remedy = f"measure parent and children together: {again(model).replace(' --only', '')}"
    return conclude(
        model,
        {},
        headline=headline,
        claim=f"{claim}.",
        mechanism=Mechanism.OTHERS,
        severity=Severity.INFO if followed or supervising else Severity.WARNING,  # a warning where nobody measures them
        doubts=[limit],
        evidence=evidence,
        remedies=[fix(remedy)],
        alternatives=["a supervisor or a shell, whose work is to wait"],
        verify=less(model, f"waiting of {who} for children", total.ns),
    )


def _churn_finding(model: Model, many: Churn) -> Finding:
    """Return the finding of a target that starts processes by the thousand: no fault, because no limit says how many
    are too many."""
    waited_ns = max((t.ns(CHILD) for t in model.threads), default=0)
    claims: dict[Claim, int] = {
        account: ns for account, ns in zip(CPU, (many.user_ns, many.kernel_ns), strict=True) if ns
    }
    if many.nothing_else:
        costs = f"starting and ending takes nearly all their time, {duration(many.cpu_ns)} of CPU time each"
        limit = "a process that used less than a millisecond of CPU time counts as only started and ended"
    elif claims:
        costs = f"starting and ending them takes at least {duration(sum(claims.values()))} of CPU time"
        limit = "the cost of starting and ending them is sampled"
    else:
        costs = limit = "the cost of starting and ending them was not sampled"
    waited = f" A parent waited {duration(waited_ns)} for them." if waited_ns else ""
    at_pipes_ns = sum(many.waited.values())
    if worth(model, at_pipes_ns):
        claims |= many.waited
        waited += f" Readers of what they write waited {duration(at_pipes_ns)} for that."
    return conclude(
        model,
        claims,
        headline=f"{subject(model, begin=True)} starts {many.per_second:,.0f} processes a second:"
        f" {', '.join(many.names[:NAMED])}",
        claim=f"{subject(model, begin=True)} starts {many.per_second:,.0f} processes a second: {costs}.{waited}",
        mechanism=Mechanism.MANY,
        departs=False,
        doubts=[limit],
        evidence=many.evidence(),
        remedies=[
            fix(
                "start fewer processes: many items in one process (xargs without -n 1, find -exec ... +), the"
                " shell's own commands, a library instead of a program, a pool of permanent workers"
            )
        ],
        alternatives=["a build or a test suite, whose work is many short programs"],
        verify=measured(model, f"fewer processes a second for the same work, now {many.per_second:,.0f}"),
    )


def _slept_in_requests(model: Model) -> dict[str, int]:
    """Return how long requests wait for processes of the target that mostly sleep, by account, if that is a good part
    of their time: any other cause has findings of its own, and the time."""
    time, found = model.request_time, {}
    if time is None:
        return {}
    for wait, roots in roots_inside(model.chains).items():
        ns = time.accounts.get(wait, 0)
        waited_ns = min(ns, model.ns(wait))  # where several requests wait behind one thread, each has its time
        idle_ns = sum(part for root, part in roots.items() if kind_of(root) is not Kind.LATENCY)
        if ns and 2 * roots.get("wait.timer", 0) > max(idle_ns, 0 if time.excess else waited_ns):
            found[wait] = ns
    return found if sum(found.values()) >= general_policy.fault_share * time.ns else {}


def _sleeping(model: Model, slept: Mapping[str, int]) -> Finding:
    """Return the finding on requests that wait for processes which sleep."""
    inside = [chain for chain in model.chains if chain.inside and chain.account in slept and chain.root == "wait.timer"]
    slept_ns, tids = sum(slept.values()), {tid for chain in inside for tid in (chain.root_tid, chain.some_tid) if tid}
    threads = [each for each in model.threads if each.tid in tids]
    names = list(dict.fromkeys(named(each.comm, each.pid) for each in threads))
    comms = first_of(list(dict.fromkeys(plain(each.comm) for each in threads)), NAMED)
    known_ns = sum(chain.ns for chain in inside)
    evidence = [Evidence(f"{duration(known_ns)} of it in waits for who slept", float(known_ns), "ns", "sched_waking")]
    if names:
        evidence.append(Evidence(f"children: {', '.join(names[:SHOWN])}", float(len(names)), "count", "sched_waking"))
    whom = f"for child processes{f' ({comms})' if comms else ''}"
    held = holding(model, [row for wait in slept for row in model.rows_of(wait)], whom)
    claim = f"Requests wait {duration(slept_ns)} for child processes, which mostly sleep on a timer."
    shorten = fix(f"shorten the sleep in {comms or 'the child process'}, or let it wait for the event itself")
    return conclude(
        model,
        {wait: model.ns(wait) for wait in slept},
        headline=held.headline if held else f"Requests wait {whom}, which sleep",
        claim=f"{claim}{held.claim}" if held else claim,
        mechanism=Mechanism.SLEEP,
        evidence=[*evidence, *held.evidence] if held else evidence,
        remedies=[held.remedy, shorten] if held else [shorten],
        verify=less(model, "waiting of requests for children", slept_ns),
    )


@dataclass(frozen=True)
class Children:
    """The children waited for, as far as they are known, and what they did."""

    who: str
    sums: Mapping[str, int]
    threads: Sequence[ThreadLedger]
    probe: str
    limit: str = ""

    @property
    def evidence(self) -> list[Evidence]:
        """Return their names, if any is known."""
        names = list(dict.fromkeys(f"{plain(each.comm)} ({each.pid or 'exited'})" for each in self.threads))[:SHOWN]
        return [Evidence(f"children: {', '.join(names)}", float(len(names)), "count", self.probe)] if names else []


def _awaited(model: Model, parent: ThreadLedger) -> Children | None:
    """Return the children that ended the parent's waits, with what they did meanwhile; None if less than half is
    known."""
    sums: dict[str, int] = {}
    tids: set[int] = set()
    for chain in model.chains:
        if chain.account == CHILD and chain.pid == parent.pid:
            sums[chain.root] = sums.get(chain.root, 0) + chain.ns
            tids |= {chain.root_tid, chain.some_tid}
    waited_ns = sum(thread.ns(CHILD) for thread in model.threads_of(parent.pid))
    if sum(sums.values()) < local_policy.child_known_share * waited_ns:
        return None
    threads = [thread for thread in model.threads if thread.tid and thread.tid in tids and thread.pid != parent.pid]
    return Children("The processes that ended the waits", sums, threads, "sched_waking")


def _children(model: Model, parent: ThreadLedger) -> Children:
    """Return the children of a process, or those that may be, and what they did."""
    parents = {pid: process.status.get("PPid", "").strip() for pid, process in model.facts.processes.items()}
    own = [thread for thread in model.threads if parents.get(thread.pid) == str(parent.pid)]
    # Of whom another parent is known, none is a child of this one.
    others = [thread for thread in model.threads if thread.pid != parent.pid and not parents.get(thread.pid)]
    sums = sums_by_key(
        (name, total.ns)
        for thread in own or others
        for name, total in thread.accounts.items()
        if name != CHILD and total.ns  # a child that waits for its own children: those are measured, too
    )
    if own:
        return Children("They", sums, own, "/proc/PID/status")
    limit = f"it is unknown whose children these processes of {subject(model)} are"
    return Children("Processes that may be its children", sums, others, "/proc/PID/status", limit)
