"""A rule on children: the wait for one is idle in itself, what it does takes the time; of thousands, their start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.local.process_churn import Churn, churn
from perfdiag.diagnosis.evidence.locks.wait_paths import CHILD
from perfdiag.diagnosis.evidence.target import CPU, again, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import FAULT_SHARE, duration, fix, judged, percent, plain, top
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger

# A thread that waits for children for less than a tenth of the window is not held up by them.
WORTH_PART = 0.1
# One wait over nearly the whole window is a supervisor's or a shell's: nothing ended that anybody waited for.
SUPERVISING_PART = 0.95
# Who ended the waits is told by those themselves where so much of their time is known.
KNOWN_PART = 0.5
SHOWN = 3


@rule(
    "PROC-CHILD-SLOW",
    title="A child process is waited for",
    accounts=(CHILD, *CPU),
    meaning="A thread waits for child processes to end. That is idle in itself and counted nowhere: where the children"
    " belong to the target their time is measured here, too, and their findings are the cause; with --only they are"
    " outside, and nothing here can say what they do. Inside a request it is the request's time, and claimed where the"
    " children sleep on a timer. Where children live for moments only, and there are many, it says"
    " how many a second and what starting and ending them takes: fork, exec, the loader, exit.",
    measured="Waits of wait.child by thread over the window, and what those that ended them were in meanwhile. Where"
    " that is not known, the accounts of the processes whose parent the waiting process is (PPid), or of all whose"
    " parent is not known. From 20 ended"
    " processes a second on that lived under 50 ms on average: their number, and the part of the CPU samples that"
    " starts or ends one, times the exact CPU time, with the error of the sample; only that part is claimed, or all of"
    " lives that take up to 1 ms of CPU time, which fork, exec, loader and exit need.",
    alternatives="A supervisor or shell, whose work is to wait.",
    remedies="Look at the findings of the child; measure it with the parent (without --only). Of many: start fewer.",
    verify="perfdiag latency on the child.",
    beats=("CPU-BOUND", "CPU-KERNEL-HEAVY"),
    one_process=True,
)
def child_slow(model: Model) -> Iterable[Outcome]:
    """Name the path from the longest waiting thread to its children; outside of requests the wait claims nothing."""
    many = churn(model)
    if many:
        yield _churn_finding(model, many)
        return
    slept_ns = _slept_in_requests_ns(model)
    serving = {chain.pid for chain in model.chains if chain.account == CHILD and chain.inside} if slept_ns else set()
    waiting = [thread for thread in model.threads if CHILD in thread.accounts and thread.tid]
    worst = max(waiting, key=lambda thread: (thread.pid in serving, thread.accounts[CHILD].ns), default=None)
    part = worst.accounts[CHILD].ns / model.window_ns if worst and model.window_ns else 0.0
    if worst is None or (part < WORTH_PART and not slept_ns):
        yield Check("PROC-CHILD-SLOW", f"waiting for children {percent(part)} of the window", part, "share")
        return
    total = worst.accounts[CHILD]
    followed = model.header.options.descendants
    supervising = total.max_ns >= SUPERVISING_PART * model.window_ns
    who = f"{plain(worst.comm)} ({worst.tid})"
    evidence = [
        Evidence(
            f"{who}: {duration(total.ns)} in {total.count:,} waits for children, longest {duration(total.max_ns)}",
            float(total.ns),
            "ns",
            "ledger",
        )
    ]
    claim = f"{who} waited {duration(total.ns)} for child processes"
    headline = f"{who} waits for child processes"
    limits = []
    if followed:
        children = _awaited(model, worst) or _children(model, worst)
        claim += f"; {children.who} were in {top(children.sums)}" if children.sums else "; they did next to nothing"
        evidence += children.evidence
        limits.append(children.limit)
    else:
        claim += ", which were not measured (--only)"
        limits.append(f"the children are outside {subject(model)}: what they did is not known")
    if slept_ns:
        claim = f"Requests wait {duration(slept_ns)} for child processes, which mostly sleep on a timer"
        headline = "Requests wait for child processes, which sleep"
    confidence, all_limits = judged(model, Confidence.HIGH, limits)
    yield Finding(
        "PROC-CHILD-SLOW",
        Severity.INFO if (followed or supervising) and not slept_ns else Severity.WARNING,
        confidence,
        f"{claim}.",
        {CHILD: model.ns(CHILD)} if slept_ns else {},
        evidence,
        [fix("look at the findings of the children: their cause is the cause")]
        if followed
        else [fix("measure parent and children together: the same command without --only")],
        alternatives=["a supervisor or a shell, whose work is to wait"],
        limits=all_limits,
        verify="perfdiag latency --pid CHILD, or the same target again",
        headline=headline,
        mechanism=Mechanism.SLEEP if slept_ns else Mechanism.OTHERS,
    )


def _churn_finding(model: Model, many: Churn) -> Finding:
    """Starting processes is what the target does, by thousands: profile, because no norm says how many are too many."""
    waited_ns = max((t.ns(CHILD) for t in model.threads), default=0)
    claims: dict[str | tuple[str, str], int] = {
        account: ns for account, ns in zip(CPU, (many.user_ns, many.kernel_ns), strict=True) if ns
    }
    if many.nothing_else:
        costs = f"starting and ending is nearly all they do, {duration(many.cpu_ns)} of CPU time each"
        limit = "who takes under a millisecond of CPU time is taken to do nothing but start and end"
    elif claims:
        costs = f"starting and ending them takes at least {duration(sum(claims.values()))} of CPU time"
        limit = "what starting and ending them takes is sampled"
    else:
        costs = limit = "what starting and ending them takes was not sampled"
    confidence, limits = judged(model, Confidence.HIGH, [limit])
    waited = f" A parent waited {duration(waited_ns)} for them." if waited_ns else ""
    return Finding(
        "PROC-CHILD-SLOW",
        Severity.INFO,
        confidence,
        f"{subject(model, begin=True)} starts {many.per_second:,.0f} processes a second: {costs}.{waited}",
        claims,
        many.evidence(),
        [
            fix(
                "start fewer: many items in one process (xargs without -n 1, find -exec ... +), the shell's own"
                " commands, a library instead of a program, a pool of workers that stay"
            )
        ],
        alternatives=["a build or a test suite, whose work is many short programs"],
        limits=limits,
        verify=f"{again(model)}: processes started a second, at the same work",
        headline=f"{subject(model, begin=True)} starts {many.per_second:,.0f} processes a second",
        mechanism=Mechanism.MANY,
    )


def _slept_in_requests_ns(model: Model) -> int:
    """Return how long requests wait for children, where that is a good part of their time and those mostly sleep: what
    else children do has findings of its own."""
    time = model.request_time
    ns = time.accounts.get(CHILD, 0) if time else 0
    if time is None or ns < FAULT_SHARE * time.ns:
        return 0
    roots: dict[str, int] = {}
    for chain in model.chains:
        if chain.account == CHILD and chain.inside:
            roots[chain.root] = roots.get(chain.root, 0) + chain.ns
    whole_ns = max(sum(roots.values()), 0 if time.excess else ns)
    return ns if 2 * roots.get("wait.timer", 0) > whole_ns else 0


@dataclass(frozen=True)
class Children:
    """Who was waited for, as far as that is known, and what they did."""

    who: str
    sums: Mapping[str, int]
    threads: Sequence[ThreadLedger]
    probe: str
    limit: str = ""

    @property
    def evidence(self) -> list[Evidence]:
        """Return their names; nothing where none is known."""
        names = list(dict.fromkeys(f"{plain(each.comm)} ({each.pid or 'exited'})" for each in self.threads))[:SHOWN]
        return [Evidence(f"children: {', '.join(names)}", float(len(names)), "count", self.probe)] if names else []


def _awaited(model: Model, parent: ThreadLedger) -> Children | None:
    """Return those that ended its waits, and what they were in meanwhile; None where that is known of less than half of
    the time."""
    sums: dict[str, int] = {}
    tids: set[int] = set()
    for chain in model.chains:
        if chain.account == CHILD and chain.pid == parent.pid:
            sums[chain.root] = sums.get(chain.root, 0) + chain.ns
            tids |= {chain.root_tid, chain.some_tid}
    waited_ns = sum(thread.ns(CHILD) for thread in model.threads if thread.pid == parent.pid)
    if sum(sums.values()) < KNOWN_PART * waited_ns:
        return None
    threads = [thread for thread in model.threads if thread.tid and thread.tid in tids and thread.pid != parent.pid]
    return Children("meanwhile those that ended", sums, threads, "sched_waking")


def _children(model: Model, parent: ThreadLedger) -> Children:
    """Return its children, or those that may be, and what they did and where they slept."""
    parents = {pid: process.status.get("PPid", "").strip() for pid, process in model.facts.processes.items()}
    own = [thread for thread in model.threads if parents.get(thread.pid) == str(parent.pid)]
    # Of whom another parent is known, none is a child of this one.
    others = [thread for thread in model.threads if thread.pid != parent.pid and not parents.get(thread.pid)]
    sums: dict[str, int] = {}
    for thread in own or others:
        for name, total in thread.accounts.items():
            if name != CHILD and total.ns:  # a child that waits for its own children: those are measured, too
                sums[name] = sums.get(name, 0) + total.ns
    if own:
        return Children("they", sums, own, "/proc/PID/status")
    limit = f"whose children they are is not known: processes of {subject(model)} whose parent is not known were taken"
    return Children("those that may be its children", sums, others, "/proc/PID/status", limit)


__all__ = ["child_slow"]
