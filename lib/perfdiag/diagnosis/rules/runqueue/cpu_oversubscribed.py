"""A rule on a target that has more threads to run than CPUs to run them on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.runqueue.competition import (
    Competition,
    all_ns,
    claims,
    competition,
    felt,
    long_ns,
    named_waits,
    no_competition,
    surely_neighbours,
    unnamed,
    what_is_missing,
)
from perfdiag.diagnosis.evidence.runqueue.handovers import ID, handovers
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import most_behind_own_ns, on_cpu_ns, queued_ns
from perfdiag.diagnosis.evidence.runqueue.whole_host import SLICE_NS, host
from perfdiag.diagnosis.evidence.target import again, cpus_of, subject, usable_cpus, widened_affinity
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import duration, fault, fix, judged, plain, together, total_ns, typical_ns, worth
from perfdiag.facts.cpu_sets import Cpus
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger

# Threads that could run must outnumber the CPUs by more than the books and the text are rounded.
MARGIN = 0.1
# Where so many times as many could run as there are CPUs, a second one is ready all the time: that is no hand-over.
DENSE = 2
# At hand-overs one is ready for each that runs; three for each, all the time that any runs, were woken together.
BURST = 3
# The threads that queue are those with nine tenths of the queueing.
QUEUEING = 0.9


@rule(
    ID,
    title="The target has more running threads than CPUs",
    accounts=("runq.busy",),
    meaning="Threads of the target are ready to run, and their CPU runs another thread of the same target: it competes"
    " with itself. More threads than CPUs do not finish more work, each piece only takes longer.",
    measured="Exact waits from sched_waking (or preemption) to the switch, while the CPU ran a task of the target, by"
    " the tasks that ran, over the whole window. It is only said when on average more of the threads that queue could"
    " run (on a CPU or ready) than CPUs they may use, by the recorded affinity of each: fewer queue at hand-overs,"
    " when one wakes the other on its own CPU. Of waits without a name (the CPU changed hands too often) as much is"
    " taken in as that many threads must queue on so many CPUs, and own CPU time can explain. Waits up to 131 us are"
    " left out, as that is what handing a CPU over takes, but not where on average twice as many could run as CPUs, nor"
    " where they queue three times as long as they run: then many are woken at once, which is said as profile. So are"
    " hand-overs that take a fifth of the busy time together.",
    alternatives="An affinity or cpuset that confines it to few CPUs.",
    remedies="As many worker threads as CPUs; more CPUs; a wider affinity.",
    verify="Measure again: runq.busy behind own threads must have shrunk at the same work per second.",
)
def oversubscribed(model: Model) -> Iterable[Outcome]:
    """Join runq.busy rows with the target's own tasks that ran meanwhile, and with the CPUs of those that queue."""
    competing, crowd = competition(model), _crowd(model)
    own = all_ns(competing.own) if crowd.dense else long_ns(competing.own)
    wanted = dict(own)
    others_ns = sum(surely_neighbours(model, competing).values())
    limit_ns = min(crowd.excess_ns, most_behind_own_ns(model))
    inferred_ns = _take_from_unnamed(wanted, long_ns(competing.unnamed), limit_ns)
    unknown_ns = total_ns(competing.unnamed) - others_ns - inferred_ns
    ns = sum(wanted.values())
    bursts = None if crowd.dense else _bursts(model, competing, crowd)
    if bursts and (not worth(model, ns) or crowd.runnable <= crowd.cpus + MARGIN):
        yield bursts
        return
    if not worth(model, ns):
        at_handovers = handovers(model, competing.own)
        yield at_handovers or unnamed(model, ID, unknown_ns, ns) or no_competition(model, ID, "own threads", ns)
        return
    if crowd.runnable <= crowd.cpus + MARGIN:
        why = f": at hand-overs, on average {crowd.runnable:.1f} could run on {crowd.cpus} CPU{'s' * (crowd.cpus > 1)}"
        yield no_competition(model, ID, "own threads", ns, why)
        return
    whole = together(competing.own + competing.unnamed if inferred_ns else competing.own)
    # Where neighbours take more than own threads do, own threads queue because of them.
    crowded = total_ns(competing.neighbours) + others_ns > total_ns(competing.own) + inferred_ns
    said = f" ({duration(inferred_ns)} of it inferred)" if inferred_ns > ns / 10 else ""
    mostly = f"{duration(inferred_ns)} of it is inferred from own CPU time, names were not kept"
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            mostly if inferred_ns > ns / 2 else "",
            *what_is_missing(model, competing, ns, 0 if inferred_ns else unknown_ns),
            "" if crowd.known else "which CPUs its threads may use was not recorded",
        ],
    )
    who = "processes" if _many_processes(crowd) else "threads"
    yield Finding(
        ID,
        fault(model, ns) if (crowd.dense or typical_ns(whole) >= SLICE_NS) and not crowded else Severity.INFO,
        confidence,
        f"{subject(model, begin=True)}'s own {who} queue behind each"
        f" other for {duration(ns)}"
        f"{said}: on average {crowd.runnable:.1f} of them could run, on {crowd.cpus} CPU{'s' * (crowd.cpus > 1)}.",
        claims(wanted),
        [
            *named_waits(competing.own, "own threads", own),
            *_inferred(inferred_ns, crowd, most_behind_own_ns(model)),
            *host(model),
            *_bound(model, crowd),
        ],
        _remedies(model, crowd),
        alternatives=["bursts in which all threads wake at once"],
        limits=limits,
        verify=f"{again(model)}: runq.busy",
        returns=_returns(crowd),
        headline=f"Own {who} queue behind each other for {plural(crowd.cpus, 'CPU')}",
        mechanism=Mechanism.BUSY,
    )


def _bursts(model: Model, competing: Competition, crowd: _Crowd) -> Finding | None:
    """Return the finding of threads that are woken many at once, each for little work; None where they are not.

    At a hand-over one waits for one that runs.  Where threads queue behind each other for several times as long as
    they run, several are ready at the same moment, though the CPUs are idle before and after.
    """
    own, ran_ns = all_ns(competing.own), sum(map(on_cpu_ns, model.threads))
    ns = sum(own.values())
    if ns < BURST * ran_ns or not felt(model, ns):
        return None
    who = "processes" if _many_processes(crowd) else "threads"
    confidence, limits = judged(model, Confidence.HIGH, ["what wakes them together is not recorded"])
    return Finding(
        ID,
        Severity.INFO,
        confidence,
        f"{subject(model, begin=True)}'s own {who} queue behind each other for {duration(ns)},"
        f" {ns / max(1, ran_ns):.0f} times as long as they run: many are woken at once, though on average"
        f" only {crowd.runnable:.1f} could run on {plural(crowd.cpus, 'CPU')}.",
        claims(own),
        [*named_waits(competing.own, "own threads", own), *host(model), *_bound(model, crowd)],
        [
            fix(
                "wake as many as there is work for: notify_one instead of all, EPOLLEXCLUSIVE or SO_REUSEPORT where"
                f" they wait for the same socket; or fewer {who} that wait for the same"
            )
        ],
        alternatives=["a thundering herd: one event wakes all that wait for it", "work that is handed out in bursts"],
        limits=limits,
        verify=f"{again(model)}: runq.busy",
        headline=f"Many {who} are woken at once and queue behind each other",
        mechanism=Mechanism.BUSY,
    )


def _returns(crowd: _Crowd) -> str:
    """Return what is won: queueing takes nobody's CPU, so that without it the same work takes the same CPU time."""
    if _many_processes(crowd):
        return "Only more CPUs or less work end all of it sooner: fewer processes at once do not."
    return "Fewer threads shorten each piece of work, only more CPUs or less work end all of it sooner."


@dataclass(frozen=True)
class _Crowd:
    """The threads that share the CPUs of those that queue."""

    threads: Sequence[ThreadLedger]
    cpus: int
    runnable: float  # mean number of them on a CPU or ready
    known: bool  # whether their CPUs were recorded
    window_ns: int

    @property
    def dense(self) -> bool:
        """Whether threads queue all the time, so that even their short waits are no hand-overs."""
        return self.runnable >= DENSE * self.cpus

    @property
    def excess_ns(self) -> int:
        """What they must queue for even with all of these CPUs to themselves."""
        return round(max(0.0, self.runnable - self.cpus) * self.window_ns) if self.runnable > self.cpus + MARGIN else 0


def _take_from_unnamed(wanted: dict[str, int], unnamed: dict[str, int], excess_ns: int) -> int:
    """Add to `wanted` what must be behind own threads of the waits of which is not known who ran; return how much."""
    taken = 0
    for key, ns in unnamed.items():
        part = min(ns, excess_ns - sum(wanted.values()))
        if part > 0:
            wanted[key] = wanted.get(key, 0) + part
            taken += part
    return taken


def _inferred(inferred_ns: int, crowd: _Crowd, most_ns: int) -> list[Evidence]:
    if not inferred_ns:
        return []
    return [
        Evidence(
            f"{duration(inferred_ns)} of it is inferred, as the CPU changed hands too often for names:"
            f" {crowd.runnable - crowd.cpus:.1f} threads more than CPUs must queue for {duration(crowd.excess_ns)},"
            f" and by own CPU time they can for {duration(most_ns)} at most",
            float(inferred_ns),
            "ns",
            "ledger",
        )
    ]


def _crowd(model: Model) -> _Crowd:
    ranked = sorted(model.threads, key=queued_ns, reverse=True)
    wanted = QUEUEING * sum(map(queued_ns, ranked))
    before = itertools.accumulate(map(queued_ns, ranked), initial=0)
    queueing = [thread for thread, so_far in zip(ranked, before, strict=False) if so_far < wanted]
    sets = [cpus_of(model, thread) for thread in queueing]
    known = [cpus for cpus in sets if cpus]
    if not known or len(known) < len(sets):
        # Of children and of threads that ended the CPUs are not known: as a rule they are those of the target.
        threads, cpus = list(model.threads), usable_cpus(model)
    else:
        allowed = Cpus.together(known)
        threads = [thread for thread in model.threads if (cpus_of(model, thread) or allowed) <= allowed]
        cpus = min(len(allowed), model.cpus_online)
    could_run_ns = sum(queued_ns(thread) + on_cpu_ns(thread) for thread in threads)
    return _Crowd(
        threads, cpus, could_run_ns / model.window_ns if model.window_ns else 0.0, bool(known), model.window_ns
    )


def _bound(model: Model, crowd: _Crowd) -> list[Evidence]:
    """Name the threads with CPUs of their own: that is where a program, or somebody's taskset, confined them."""
    bound = _bound_threads(model, crowd)
    if not bound:
        return []
    names = ", ".join(dict.fromkeys(plain(thread.comm) for thread in bound[:3]))
    return [
        Evidence(
            f"{len(bound)} of its threads may use other CPUs than the first thread does ({names})",
            float(len(bound)),
            "count",
            "/proc/PID/task/TID/status",
        )
    ]


def _bound_threads(model: Model, crowd: _Crowd) -> list[ThreadLedger]:
    facts = model.facts.processes
    return [
        thread
        for thread in crowd.threads
        if thread.pid in facts and thread.tid in (facts[thread.pid].thread_cpus or {})
    ]


def _many_processes(crowd: _Crowd) -> bool:
    """Return whether processes queue behind each other (a build, xargs), rather than the threads of one."""
    by_process: dict[int, int] = {}
    for thread in crowd.threads:
        # A fold of ended processes stands under pid 0: of several, none has more than a part.
        by_process[thread.pid] = by_process.get(thread.pid, 0) + queued_ns(thread) // max(1, thread.processes)
    return 2 * max(by_process.values(), default=0) < sum(map(queued_ns, crowd.threads))


def _remedies(model: Model, crowd: _Crowd) -> list[Remedy]:
    bound = _bound_threads(model, crowd)
    wider = next((remedy for thread in bound if (remedy := widened_affinity(model, thread))), widened_affinity(model))
    if _many_processes(crowd):
        advice = (
            f"more CPUs, or less work: with no more processes at once than CPUs (make -j{crowd.cpus}, xargs -P"
            f" {crowd.cpus}) each ends sooner, but all of them together do not"
        )
    else:
        advice = (
            f"run as many worker threads as CPUs ({crowd.cpus}): the pool's size in its configuration, GOMAXPROCS,"
            " OMP_NUM_THREADS, -XX:ActiveProcessorCount; or give it more CPUs"
        )
    return [*([wider] if wider else []), fix(advice)]


__all__ = ["oversubscribed"]
