"""CPU-OVERSUBSCRIBED: the target has more runnable threads than CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.cpu_affinity import widened_affinity
from perfdiag.diagnosis.evidence.fix_checks import time_under
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
from perfdiag.diagnosis.evidence.runqueue.crowd import Crowd, are_many_processes, bound_threads, crowd_of
from perfdiag.diagnosis.evidence.runqueue.crowd_work import CrowdWork, crowd_work
from perfdiag.diagnosis.evidence.runqueue.handovers import ID, handovers
from perfdiag.diagnosis.evidence.runqueue.short_threads import short_threads
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import most_behind_own_ns, on_cpu_ns
from perfdiag.diagnosis.evidence.runqueue.waiting_requests import waiting_requests
from perfdiag.diagnosis.evidence.runqueue.whole_host import host
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import runqueue_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import duration, fault, fix, plain, together, total_ns, typical_ns, worth
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST


@rule(
    ID,
    title="The target has more runnable threads than CPUs",
    accounts=("runq.busy", REST),
    meaning=(
        "Runnable threads of the target wait for a CPU used by other threads of the same target. More threads than"
        " CPUs do not finish more work; each piece takes longer. Or its requests wait so in a queue of its own, which"
        " no thread shows (goroutines, tasks)."
    ),
    measured=(
        "Waits from wake-up or preemption to the switch behind own threads, if on average more of the queueing"
        " threads are runnable than their CPUs (by affinity), or if their affinity allows fewer CPUs than the host has"
        " and they wait for whole time slices; waits up to 131 us only from twice as many on. Many"
        " threads woken at once, and handovers above a fifth of busy time, are profiles. Waits without a name count"
        " as far as the number of threads and their CPU time explain them, and no larger a part of them than of"
        " those with a name, or of the CPUs' time. Requests that were not followed count where"
        " the target used 85 % of its CPUs and more requests were in progress than these are."
    ),
    alternatives="An affinity or cpuset limits it to few CPUs; requests wait for something else, and background work"
    " uses the CPUs.",
    remedies="Run as many worker threads as CPUs, add CPUs, or widen the affinity.",
    verify="runq.busy is under 5 % of busy time.",
)
def oversubscribed(model: Model) -> Iterable[Outcome]:
    """Judge waits in runq.busy by own threads on the CPU, and by the CPUs of those that queue."""
    requests = waiting_requests(model)
    if requests:
        yield requests
    competing, crowd = competition(model), crowd_of(model)
    own = all_ns(competing.own) if crowd.dense else long_ns(competing.own)
    wanted = dict(own)
    others_ns = sum(surely_neighbours(model, competing).values())
    limit_ns = min(crowd.excess_ns, most_behind_own_ns(model))
    own_part = _own_part(competing, crowd)
    nameless = {key: round(ns * own_part) for key, ns in long_ns(competing.unnamed).items()}
    inferred_ns = _take_from_unnamed(wanted, nameless, limit_ns)
    unknown_ns = total_ns(competing.unnamed) - others_ns - inferred_ns
    ns = sum(wanted.values())
    bursts = None if crowd.dense else _bursts(model, competing, crowd)
    if bursts and (not worth(model, ns) or not crowd.exceeds):
        yield bursts
        return
    if not worth(model, ns):
        at_handovers = handovers(model, competing.own)
        yield at_handovers or unnamed(model, ID, unknown_ns, ns) or no_competition(model, ID, "own threads", ns)
        return
    if not crowd.exceeds and not _is_bound(model, competing, crowd):
        why = f" (handovers: on average {crowd.runnable:.1f} threads runnable on {plural(crowd.cpus, 'CPU')})"
        yield no_competition(model, ID, "own threads", ns, why)
        return
    yield _finding(model, competing, crowd, own, wanted, inferred_ns, unknown_ns)


def _finding(
    model: Model,
    competing: Competition,
    crowd: Crowd,
    own: Mapping[str, int],
    wanted: Mapping[str, int],
    inferred_ns: int,
    unknown_ns: int,
) -> Finding:
    ns, others_ns = sum(wanted.values()), sum(surely_neighbours(model, competing).values())
    whole = together(competing.own + competing.unnamed if inferred_ns else competing.own)
    # If other processes use more CPU than own threads, own threads queue because of them.
    crowded = total_ns(competing.neighbours) + others_ns > total_ns(competing.own) + inferred_ns
    said = f" ({duration(inferred_ns)} inferred)" if inferred_ns > ns / 10 else ""
    mostly = f"{duration(inferred_ns)} is inferred from own CPU time: the running threads are unknown"
    who, brief = "processes" if are_many_processes(crowd) else "threads", short_threads(model)
    work = crowd_work(model, crowd)
    return conclude(
        model,
        claims(wanted),
        headline=brief.headline(crowd.cpus) if brief else _headline(model, crowd, who, work.text),
        claim=(
            f"{subject(model, begin=True)}'s {who} waited {duration(ns)}{said} for CPUs used by each other: on average"
            f" {crowd.runnable:.1f} were runnable on {plural(crowd.cpus, 'CPU')}."
        ),
        mechanism=Mechanism.BUSY,
        severity=fault(model, ns)
        if (crowd.dense or typical_ns(whole) >= runqueue_policy.slice_ns) and not crowded
        else Severity.INFO,
        doubts=[
            mostly if inferred_ns > ns / 2 else "",
            *what_is_missing(model, competing, ns, 0 if inferred_ns else unknown_ns),
            "" if crowd.known else "the affinity of its threads was not recorded",
        ],
        evidence=[
            *([brief.evidence] if brief else []),
            *named_waits(competing.own, "own threads", own),
            *_inferred(inferred_ns, crowd, most_behind_own_ns(model)),
            *host(model),
            *_bound(model, crowd),
        ],
        remedies=[*([brief.remedy] if brief else []), *_remedies(model, crowd, work)],
        alternatives=["all threads wake at once, in bursts"],
        verify=time_under(model, "runq.busy"),
        returns=_returns(crowd),
    )


def _headline(model: Model, crowd: Crowd, who: str, work: str) -> str:
    if crowd.exceeds:
        competing = f"On average {crowd.runnable:.1f} own {who} compete for {plural(crowd.cpus, 'CPU')}"
        return f"{competing}: {work}" if work else competing
    return f"Own {who} compete for {crowd.cpus} of {plural(model.cpus_online, 'CPU')}: their affinity allows no more"


def _is_bound(model: Model, competing: Competition, crowd: Crowd) -> bool:
    """Return whether threads wait behind computing ones on the few CPUs that their affinity allows: work that comes in
    bursts has no more runnable threads than CPUs on average, and waits all the same."""
    online = model.header.host.cpus_online
    slices = typical_ns(together(competing.own)) >= runqueue_policy.slice_ns
    return online is not None and crowd.cpus < online and slices


def _bursts(model: Model, competing: Competition, crowd: Crowd) -> Finding | None:
    """Return the finding of many threads woken at once for little work each, else None.

    If threads wait for each other several times longer than they run, several become runnable at the same moment.
    """
    own, ran_ns = all_ns(competing.own), sum(map(on_cpu_ns, model.threads))
    ns = sum(own.values())
    if ns < runqueue_policy.burst_factor * ran_ns or not felt(model, ns):
        return None
    who = "processes" if are_many_processes(crowd) else "threads"
    return conclude(
        model,
        claims(own),
        headline=f"Many {who} are woken at once and compete for {plural(crowd.cpus, 'CPU')}",
        claim=(
            f"{subject(model, begin=True)}'s {who} waited {duration(ns)} for CPUs used by each other,"
            f" {ns / max(1, ran_ns):.0f} times as long as they ran. On average only {crowd.runnable:.1f} were runnable"
            f" on {plural(crowd.cpus, 'CPU')}."
        ),
        mechanism=Mechanism.BUSY,
        departs=False,
        doubts=["the common waker is not recorded"],
        evidence=[*named_waits(competing.own, "own threads", own), *host(model), *_bound(model, crowd)],
        remedies=[
            fix(
                "wake one thread per piece of work: notify_one instead of notify_all, EPOLLEXCLUSIVE or SO_REUSEPORT on"
                f" a shared socket; or use fewer {who}"
            )
        ],
        alternatives=["a thundering herd: one event wakes all its waiters", "work arrives in bursts"],
        verify=time_under(model, "runq.busy"),
    )


def _returns(crowd: Crowd) -> str:
    """Return what a fix saves: waiting uses no CPU, so the same work takes the same CPU time."""
    if are_many_processes(crowd):
        return "Only more CPUs or less work finish everything sooner; fewer processes do not."
    return "Fewer threads shorten each piece of work; only more CPUs or less work finish everything sooner."


def _take_from_unnamed(wanted: dict[str, int], unnamed: dict[str, int], excess_ns: int) -> int:
    """Add unnamed waits to `wanted` as far as they must be behind own threads; return how much."""
    taken, rest_ns = 0, excess_ns - sum(wanted.values())
    for key, ns in unnamed.items():
        part = min(ns, rest_ns - taken)
        if part > 0:
            wanted[key] = wanted.get(key, 0) + part
            taken += part
    return taken


def _own_part(competing: Competition, crowd: Crowd) -> float:
    """Return which part of the waits without a name can be for own threads: no more than of those with one, or than of
    their CPUs' time these threads had."""
    own_ns, others_ns = total_ns(competing.own), total_ns(competing.neighbours)
    named = own_ns / (own_ns + others_ns) if own_ns else 0.0
    ran = sum(map(on_cpu_ns, crowd.threads)) / max(1, crowd.cpus * crowd.window_ns)
    return min(1.0, max(named, ran))


def _inferred(inferred_ns: int, crowd: Crowd, most_ns: int) -> list[Evidence]:
    if not inferred_ns:
        return []
    return [
        Evidence(
            f"{duration(inferred_ns)} inferred: {crowd.runnable - crowd.cpus:.1f} threads too many must wait"
            f" {duration(crowd.excess_ns)}, and own CPU time allows {duration(most_ns)}",
            float(inferred_ns),
            "ns",
            "ledger",
        )
    ]


def _bound(model: Model, crowd: Crowd) -> list[Evidence]:
    """Name the threads with an affinity of their own, set by the program or by taskset."""
    bound = bound_threads(model, crowd)
    if not bound:
        return []
    names = ", ".join(dict.fromkeys(plain(thread.comm) for thread in bound[:3]))
    return [
        Evidence(
            f"{len(bound)} threads have another affinity than the first thread ({names})",
            float(len(bound)),
            "count",
            "/proc/PID/task/TID/status",
        )
    ]


def _remedies(model: Model, crowd: Crowd, work: CrowdWork) -> list[Remedy]:
    bound = bound_threads(model, crowd)
    wider = next((remedy for thread in bound if (remedy := widened_affinity(model, thread))), widened_affinity(model))
    if are_many_processes(crowd):
        advice = (
            f"add CPUs, or do less work; as many processes as CPUs (make -j{crowd.cpus}, xargs -P {crowd.cpus}) finish"
            " each piece sooner, but not everything"
        )
    else:
        advice = (
            f"run as many worker threads as CPUs ({crowd.cpus}): pool size, GOMAXPROCS, OMP_NUM_THREADS,"
            " -XX:ActiveProcessorCount; or add CPUs"
        )
    if wider:
        return [wider, *work.remedies, fix(advice)]
    return [*work.remedies, fix(advice)] if work.text else [fix(advice), *work.remedies]
