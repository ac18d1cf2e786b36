"""CPU-SPINNING: a thread polls for work in a loop and burns CPU time."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perfdiag.common.text import named
from perfdiag.diagnosis.evidence.cpu.spinning import Loop, asking_call, sleepless, sleeps, spinning
from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.runqueue.competition import competition
from perfdiag.diagnosis.evidence.target import CPU, again, cpu_ns, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, plain, total_ns, worth
from perfdiag.model.model import Model

ID = "CPU-SPINNING"


class _Spins(NamedTuple):
    """What is said of who spins: for work, or for a lock."""

    headline: str
    claim: str
    remedies: Sequence[Remedy]
    alternatives: Sequence[str]


_FOR_WORK = _Spins(
    "polls for work in a loop",
    "polls for work",
    [
        fix(
            "sleep until there is work: poll or epoll_wait with a timeout, a condition variable, an eventfd; at most"
            " spin for some microseconds first"
        ),
        fix("if it polls by design (DPDK, low-latency trading): give it its own CPUs"),
    ],
    ["an event loop with a little work at every call", "polling by design"],
)
_FOR_LOCK = _Spins(
    "spins for a lock",
    "spins for a lock",
    [
        fix(
            "find out who has the lock so long: it must not wait for anything with it (a peer, a disk, another lock);"
            " or take a lock that sleeps, such as a mutex"
        )
    ],
    ["its holder is ready, and waits for a CPU that those have who spin"],
)


@rule(
    ID,
    title="A thread polls for work in a loop instead of sleeping",
    accounts=CPU,
    meaning=(
        "A thread hardly ever sleeps and spends most of its CPU time in calls with nothing to return: sched_yield,"
        " poll or epoll_wait with timeout 0, recv without data, or a loop named as a spin wait. It is a fault if the"
        " target's own threads wait for that CPU, or if requests need less than a tenth of that time; otherwise a"
        " profile."
    ),
    measured=(
        "CPU stacks per process, with the CPU time of threads that run 10 ms or more between sleeps. The lower end of"
        " the 95 % interval of polling samples must reach two fifths of that time, and only polling is claimed. For a"
        " server with requests below a tenth of that time, 15 % suffices and all but the requests is claimed."
    ),
    alternatives=(
        "Polling by design (DPDK, low-latency trading), or an event loop with work at every call. A loop over a flag"
        " in memory without such a name shows as CPU-BOUND."
    ),
    remedies=(
        "Sleep until there is work: a poll timeout, a condition variable, an eventfd. Spin for a bounded time only."
    ),
    verify="The thread takes as much CPU time as its work needs, and sleeps in between.",
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
    if count < cpu_policy.samples_for_function:
        why = f"only {count} CPU samples" if model.measured("stacks") else "no CPU stacks were sampled"
        reason = f"threads that hardly sleep ran {duration(awake_ns)}: they work or poll, unknown ({why})"
        yield Silence(ID, reason, f"record longer: {again(model, '--duration 60')}")
        return
    asking = CpuSamples(model).part(lambda stack: asking_call(stack) != "")
    text = f"polling for work {asking} of CPU samples; threads that hardly sleep ran {duration(awake_ns)}"
    yield Check(ID, text, asking.share, "share")


def _finding(model: Model, loops: Sequence[Loop]) -> Finding:
    first = loops[0]
    told = _FOR_LOCK if first.for_lock else _FOR_WORK
    user_ns, kernel_ns = (sum(getattr(loop, name) for loop in loops) for name in ("user_ns", "kernel_ns"))
    ns, missed_ns = user_ns + kernel_ns, total_ns(competition(model).own)
    severity = fault(model, missed_ns) if worth(model, missed_ns) else Severity.INFO
    if first.idles:
        severity = fault(model, ns)
    thread, who = first.thread, named(first.thread.comm, first.pid)
    others = f" {len(loops) - 1} more processes do the same." if len(loops) > 1 else ""
    return conclude(
        model,
        {account: each for account, each in zip(CPU, (user_ns, kernel_ns), strict=True) if each},
        headline=f"{who} {told.headline} instead of sleeping",
        claim=(
            f"{who} {told.claim} in {first.asking} of its CPU samples. This burns"
            f" {duration(ns)} of {subject(model)}'s CPU time.{others}"
        ),
        mechanism=Mechanism.WORK,
        severity=severity,
        doubts=[
            "only function names show the polling" if first.by_name else "",
            "the code between two polls is counted as polling" if first.around else "",
        ],
        evidence=_evidence(model, first, missed_ns),
        remedies=told.remedies,
        alternatives=told.alternatives,
        verify=less(model, f"CPU time of {thread.name}", cpu_ns(thread)),
    )


def _evidence(model: Model, loop: Loop, missed_ns: int) -> list[Evidence]:
    asks = ", ".join(f"{plain(name)} {part}" for name, part in loop.calls)
    on_cpu, slept = duration(cpu_ns(loop.thread)), sleeps(loop.thread)
    found = [
        Evidence(
            f"{asks} of {loop.samples:,} CPU samples",
            loop.asking.share,
            "share",
            FUNCTIONS,
            error=loop.asking.error,
            kind=EvidenceKind.FUNCTIONS,
        ),
        Evidence(f"{on_cpu} on a CPU, {slept:,} sleeps (thread {loop.thread.tid})", float(slept), "count", "ledger"),
    ]
    if worth(model, missed_ns):
        text = f"{duration(missed_ns)} own threads waited for each other's CPU"
        found.append(Evidence(text, float(missed_ns), "ns", "ledger"))
    return found
