"""A rule on threads that ask again and again whether there is work instead of sleeping until there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.spinning import Loop, asking_call, sleepless, sleeps, spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, FUNCTIONS, CpuSamples
from perfdiag.diagnosis.evidence.runqueue.competition import competition
from perfdiag.diagnosis.evidence.target import CPU, again, cpu_ns, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, judged, plain, total_ns, worth
from perfdiag.model.model import Model

ID = "CPU-SPINNING"


@rule(
    ID,
    title="A thread asks for work in a loop instead of sleeping until there is some",
    accounts=CPU,
    meaning="A thread hardly ever sleeps, and most of its CPU time goes to calls that return at once: sched_yield, poll"
    " or epoll_wait without a timeout, recv that finds nothing, or a loop that is named as one that waits. That is no"
    " work: the CPU time is burnt. Profile where nobody misses it; a fault where own threads wait for its CPU, or where"
    " it is burnt for requests that take less than a tenth of it, and would wake who sleeps.",
    measured="CPU stacks of each process sampled at the scheduler's tick, joined with the exact CPU time of those of"
    " its threads that run for at least 10 ms between two sleeps, over the window. The lower end of the 95 % interval"
    " of samples in such calls must reach two fifths of that time; only the part in them is claimed. (Of a server whose"
    " requests are known to take less than a tenth of that time 15 % do, and all but the requests is claimed.) A recv"
    " counts only where the samples show that nothing was copied.",
    alternatives="Polling on purpose (DPDK, low-latency trading). An event loop whose calls find something each time. A"
    " loop in user space that waits for a flag looks like one that computes: without such a name it is CPU-BOUND.",
    remedies="Sleep until there is work: poll with a timeout, a condition, an eventfd; spin for a bounded time only.",
    verify="Measure again: the CPU time of the thread has shrunk to that of its work.",
    beats=(
        "CPU-BOUND",
        "CPU-KERNEL-HEAVY",
        "CPU-SINGLE-THREAD",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
    ),
)
def cpu_spinning(model: Model) -> Iterable[Outcome]:
    """Join samples in calls that return at once with the CPU time of threads that hardly ever sleep."""
    loops = spinning(model)
    if loops:
        yield _finding(model, loops)
        return
    awake_ns = sum(cpu_ns(thread) for thread in sleepless(model))
    if not worth(model, awake_ns):
        return
    count = CpuSamples(model).count
    if count < ENOUGH:
        why = f"only {count} CPU samples" if model.measured("stacks") else "no CPU stacks were sampled"
        reason = f"threads that hardly sleep ran {duration(awake_ns)}: working or asking for work, not told ({why})"
        yield Silence(ID, reason, f"record longer: {again(model, '--duration 60')}")
        return
    asking = CpuSamples(model).part(lambda stack: asking_call(stack) != "")
    text = f"asking for work {asking} of CPU samples, {duration(awake_ns)} by threads that hardly sleep"
    yield Check(ID, text, asking.share, "share")


def _finding(model: Model, loops: Sequence[Loop]) -> Finding:
    first = loops[0]
    user_ns, kernel_ns = (sum(getattr(loop, name) for loop in loops) for name in ("user_ns", "kernel_ns"))
    ns, missed_ns = user_ns + kernel_ns, total_ns(competition(model).own)
    severity = fault(model, missed_ns) if worth(model, missed_ns) else Severity.INFO
    if first.idles:
        severity = fault(model, ns)
    thread = first.thread
    asks = ", ".join(f"{plain(name)} {part}" for name, part in first.calls)
    others = f" So do {len(loops) - 1} more processes." if len(loops) > 1 else ""
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "that it waits there is told by the names of its functions alone" if first.by_name else "",
            "what it does between two calls is taken for the loop around them" if first.around else "",
        ],
    )
    return Finding(
        ID,
        severity,
        confidence,
        f"{plain(thread.comm)} ({first.pid}) asks for work in a loop instead of sleeping until there is some:"
        f" {first.asking} of its CPU samples only ask, {duration(ns)} of {subject(model)}'s CPU time.{others}",
        {account: each for account, each in zip(CPU, (user_ns, kernel_ns), strict=True) if each},
        [
            Evidence(
                f"asks by {asks} of {first.samples:,} CPU samples",
                first.asking.share,
                "share",
                FUNCTIONS,
                error=first.asking.error,
                kind=EvidenceKind.FUNCTIONS,
            ),
            Evidence(
                f"{plain(thread.comm)} (tid {thread.tid}) ran {duration(cpu_ns(thread))} and slept"
                f" {sleeps(thread):,} times",
                float(sleeps(thread)),
                "count",
                "ledger",
            ),
            *(
                [
                    Evidence(
                        f"own threads queued {duration(missed_ns)} behind each other", float(missed_ns), "ns", "ledger"
                    )
                ]
                if worth(model, missed_ns)
                else []
            ),
        ],
        [
            fix(
                "sleep until there is work: poll or epoll_wait with a timeout, a condition, an eventfd; where an answer"
                " comes within microseconds, spin for a bounded time and sleep then"
            ),
            fix("where polling is meant (DPDK, low-latency trading) this is its price: give it CPUs of its own"),
        ],
        alternatives=["an event loop with little work, whose calls find something each time", "polling on purpose"],
        limits=limits,
        verify=f"{again(model)}: CPU time of {plain(thread.comm)} at the same work",
        headline=f"{plain(thread.comm)} ({first.pid}) asks for work in a loop instead of sleeping",
        mechanism=Mechanism.WORK,
    )


__all__ = ["ID", "cpu_spinning"]
