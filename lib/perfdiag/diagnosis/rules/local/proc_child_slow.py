"""A rule on children: the wait for one is idle in itself, what it does takes the time; of thousands, their start."""

from __future__ import annotations

from collections.abc import Iterable

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


@rule(
    "PROC-CHILD-SLOW",
    title="A child process is waited for",
    accounts=(CHILD, *CPU),
    meaning="A thread waits for child processes to end. That is idle in itself and counted nowhere: where the children"
    " belong to the target their time is in the same books, and their findings are the cause; with --only they are"
    " outside, and nothing here can say what they do. Inside a request it is the request's time, and claimed where the"
    " children sleep by their own choice. Where children live for moments only, and there are many, it says"
    " how many a second and what starting and ending them takes: fork, exec, the loader, exit.",
    measured="Waits of wait.child by thread over the window, joined with the accounts of the processes whose parent the"
    " waiting process is (PPid), or of all other processes of the target where the parent is not known. From 20 ended"
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
        sums, names, known = _children(model, worst)
        claim += f"; their time is in these books: {top(sums)}" if sums else "; they did next to nothing"
        if meanwhile := _meanwhile(model, worst.pid):
            text = f"while it waited, those that ended were in {top(meanwhile)}"
            evidence.append(Evidence(text, float(sum(meanwhile.values())), "ns", "sched_waking"))
        if names:
            evidence.append(Evidence(f"children: {', '.join(names)}", float(len(names)), "count", "/proc/PID/status"))
        limits.append(
            "" if known else f"whose children they are is not known: all other processes of {subject(model)} were taken"
        )
    else:
        claim += ", which were not measured (--only)"
        limits.append(f"the children are outside {subject(model)}: what they did is not known")
    if slept_ns:
        claim = f"Requests wait {duration(slept_ns)} for child processes, which mostly sleep by their own choice"
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


def _meanwhile(model: Model, pid: int) -> dict[str, int]:
    """Return what children were in while a process waited for them, or the threads that those waited for."""
    sums: dict[str, int] = {}
    for chain in model.chains:
        if chain.account == CHILD and chain.pid in (pid, 0):
            sums[chain.root] = sums.get(chain.root, 0) + chain.ns
    return sums


def _children(model: Model, parent: ThreadLedger) -> tuple[dict[str, int], list[str], bool]:
    """Return what the children did and where they slept, their names, and whether they are known to be its children."""
    pids = {
        pid
        for pid, process in model.facts.processes.items()
        if process.status.get("PPid", "").strip() == str(parent.pid)
    }
    own = [thread for thread in model.threads if thread.pid in pids]
    chosen = own or [thread for thread in model.threads if thread.pid != parent.pid]
    sums: dict[str, int] = {}
    for thread in chosen:
        for name, total in thread.accounts.items():
            if name != CHILD:  # a child that waits for its own children: those are in these books too
                sums[name] = sums.get(name, 0) + total.ns
    names = [f"{plain(thread.comm)} ({thread.pid or 'exited'})" for thread in chosen][:3]
    return {name: ns for name, ns in sums.items() if ns}, list(dict.fromkeys(names)), bool(own)


__all__ = ["child_slow"]
