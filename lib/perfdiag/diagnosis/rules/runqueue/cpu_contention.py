"""A rule on threads that could run while their CPU ran other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.runqueue.competition import (
    KERNEL_THREADS,
    claims,
    comm_of,
    competition,
    long_ns,
    named_waits,
    no_competition,
    surely_neighbours,
    unnamed,
    what_is_missing,
)
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import without_names
from perfdiag.diagnosis.evidence.runqueue.whole_host import SLICE_NS, host
from perfdiag.diagnosis.evidence.target import (
    again,
    counts_only_in,
    idle_class,
    niced,
    own_group,
    setting,
    subject,
    widened_affinity,
    yielding,
)
from perfdiag.diagnosis.rule import (
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import (
    WORTH_SHARE,
    attempt,
    brief,
    duration,
    fault,
    fix,
    judged,
    percent,
    plain,
    together,
    total_ns,
    typical_ns,
    worth,
)
from perfdiag.facts.process import IDLE_POLICY
from perfdiag.model.model import Model, Row
from perfdiag.recording.distribution import Distribution

# One wait that is a third of less than a tenth of a second is an accident of scheduling; contention comes again.
ACCIDENT_NS, ACCIDENT_PART = 100_000_000, 1 / 3
# A neighbour's competition is answered with a multiple of the target's own weight that is felt but leaves it some.
WEIGHT_FACTOR = 4
SHOWN = 3  # neighbours by name
CLAIMED = 2  # of them in the claim: a verdict has three lines
LARGEST_WEIGHT = {1: 262_144, 2: 10_000}  # cpu.shares, cpu.weight
STAT = "/proc/PID/stat"


@rule(
    "CPU-CONTENTION",
    title="Other processes have the CPU while the target could run",
    accounts=("runq.busy",),
    meaning="Threads of the target are ready to run, and their CPU runs somebody outside the target. The finding names"
    " who, and how long.",
    measured="Exact waits from sched_waking (or preemption) to the switch, while the CPU ran a task outside the target,"
    " by the tasks that had it meanwhile, over the whole window. Waits that began behind a kernel thread count as"
    " behind own threads where those are most of the competition. Waits up to 131 us are left out: that is what"
    " handing a CPU over takes. It is a fault when half the time is in waits of a scheduler's slice (0.5 ms)"
    " or more, and, where all of them together take less than 0.1 s, not a third of it in a single one. Of waits of"
    " which is not known who ran, as much is taken in as own CPU time cannot explain: nobody queues behind own threads"
    " for longer than those ran.",
    alternatives="An affinity or cpuset that confines the target to few CPUs; a CPU quota (CPU-QUOTA-THROTTLED) and"
    " a host that takes the CPU away (CPU-STOLEN) are measured apart.",
    remedies="Let the target use more CPUs, raise its cgroup's weight, or move the neighbour.",
    verify="Measure again: runq.busy and the neighbour's name must be gone from the report.",
)
def contention(model: Model) -> Iterable[Outcome]:
    """Join runq.busy rows with the tasks outside the target that ran meanwhile."""
    id = "CPU-CONTENTION"
    competing = competition(model)
    wanted = long_ns(competing.neighbours)
    inferred = surely_neighbours(model, competing)
    inferred_ns, unknown_ns = sum(inferred.values()), total_ns(competing.unnamed) - sum(inferred.values())
    wanted |= inferred
    ns = sum(wanted.values())
    if not worth(model, ns):
        yield unnamed(model, id, unknown_ns, ns) or no_competition(model, id, "neighbours", ns)
        return
    whole = together(competing.neighbours + competing.unnamed if inferred_ns else competing.neighbours)
    names = _names(competing.neighbours, inferred_ns)
    not_named = f"who had the CPU for {duration(inferred_ns)} of it is inferred" if inferred_ns > ns / 10 else ""
    confidence, limits = judged(model, Confidence.HIGH, [not_named, *what_is_missing(model, competing, ns, unknown_ns)])
    yield Finding(
        id,
        fault(model, ns) if typical_ns(whole) >= SLICE_NS and not _is_accident(whole) else Severity.INFO,
        confidence,
        _claim(model, names, ns),
        claims(wanted),
        [
            *named_waits(competing.neighbours, "neighbours", wanted),
            *_shown(names, ns),
            *without_names(model, inferred_ns),
            *_yields(model),
            *host(model),
        ],
        _remedies(model, competing.neighbours, inferred_ns),
        alternatives=[f"neighbours that serve {subject(model)} itself (a local database, a kernel thread)"],
        limits=limits,
        verify=f"{again(model)}: runq.busy",
        headline=_headline(competing.neighbours, inferred_ns),
        mechanism=Mechanism.BUSY,
        others=_others(competing.neighbours),
    )


def _is_accident(waits: Distribution) -> bool:
    return waits.sum_ns < ACCIDENT_NS and waits.max_ns > ACCIDENT_PART * waits.sum_ns


def _yields(model: Model) -> list[Evidence]:
    """Return the policy and nice value of the target's first process that lets others go first, and against whom that
    does not count."""
    found = [
        Evidence(_yielding(model, pid, "as SCHED_IDLE", group), IDLE_POLICY, "policy", STAT)
        for pid, group in list(idle_class(model).items())[:1]
    ]
    for pid, nice in [*yielding(model).items(), *niced(model).items()][:1]:
        found.append(
            Evidence(_yielding(model, pid, f"at nice {nice}", counts_only_in(model, pid)), float(nice), "nice", STAT)
        )
    return found


def _yielding(model: Model, pid: int, how: str, group: str) -> str:
    runs = f"process {pid} runs {how}"
    return f"{runs}, which counts only within its {group}" if group else f"{subject(model)} itself yields: {runs}"


def _claim(model: Model, names: list[str], ns: int) -> str:
    whys = ["SCHED_IDLE" for group in idle_class(model).values() if not group] + [
        f"nice {nice}" for nice in yielding(model).values()
    ]
    yields = "".join(f" It yields to them: {why}." for why in whys[:1])
    behind = first_of(names, CLAIMED)
    return f"Threads ready to run waited {duration(ns)} for CPUs that ran other processes: {behind}.{yields}"


def _headline(rows: Iterable[Row], inferred_ns: int) -> str:
    largest = _largest(rows, inferred_ns)
    return (
        f"Threads wait for a CPU, mostly behind {brief(plain(largest))}"
        if largest
        else "Threads wait for a CPU behind other processes"
    )


def _largest(rows: Iterable[Row], inferred_ns: int) -> str:
    """Return who had the CPU for most of the waiting, "" where it was nobody in particular."""
    parts = _by_comm(rows)
    comm = max(parts, key=lambda each: parts[each], default="")
    return comm if comm and 2 * parts[comm] > sum(parts.values()) + inferred_ns else ""


def _others(rows: Iterable[Row]) -> list[Other]:
    """Return who had the CPU, with their numbers, those first who had it longest."""
    found: dict[tuple[int, str], int] = {}
    for row in rows:
        number = row.key.split(":", 2)[1]
        who = int(number) if number.isdecimal() else 0, comm_of(row.key)
        found[who] = found.get(who, 0) + row.distribution.sum_ns
    largest = sorted(found, key=lambda who: (-found[who], who))[:SHOWN]
    return [Other(pid, plain(comm), Relation.COMPETITOR) for pid, comm in largest]


def _shown(names: list[str], ns: int) -> list[Evidence]:
    """Return those that the claim has no room for."""
    return [Evidence(f"behind {', '.join(names)}", float(ns), "ns", "ledger")] if len(names) > CLAIMED else []


def _names(rows: Iterable[Row], inferred_ns: int) -> list[str]:
    """Return who had the CPU, and for what part of the waiting, the largest first."""
    parts = _by_comm(rows)
    whole = sum(parts.values()) + inferred_ns
    named = [(part, f"{plain(comm)} {percent(part / whole)}") for comm, part in _felt(parts, whole)[:SHOWN]]
    if inferred_ns:
        named.append((inferred_ns, f"others (names not kept) {percent(inferred_ns / whole)}"))
    return [text for _, text in sorted(named, key=lambda each: -each[0])]


def _by_comm(rows: Iterable[Row]) -> dict[str, int]:
    parts: dict[str, int] = {}
    for row in rows:
        parts[comm_of(row.key)] = parts.get(comm_of(row.key), 0) + row.distribution.sum_ns
    return parts


def _felt(parts: Mapping[str, int], whole: int) -> list[tuple[str, int]]:
    """Return the neighbours worth a name, the largest first; where all are small, the largest ones nevertheless."""
    ranked = sorted(parts.items(), key=lambda item: -item[1])
    felt = [(comm, part) for comm, part in ranked if part >= WORTH_SHARE * whole]
    return felt or (ranked if sum(parts.values()) > whole / 2 else [])


def _remedies(model: Model, rows: list[Row], inferred_ns: int) -> list[Remedy]:
    found = [
        attempt(f"chrt -a -o -p 0 {pid}", f"chrt -a -i -p 0 {pid}", "SCHED_IDLE, of its first thread")
        for pid, group in idle_class(model).items()
        if not group
    ][:1]
    found += [_niced(model, pid, nice) for pid, nice in list(yielding(model).items())[:1]]
    found += [remedy for remedy in (widened_affinity(model), _weight(model)) if remedy]
    parts = _by_comm(rows)
    felt = _felt(parts, sum(parts.values()) + inferred_ns)
    largest = felt[0][0] if felt else ""
    advice = "give the neighbours named less: a lower weight, a quota, other CPUs, or another host"
    if not felt:
        advice = "find who takes the CPUs (perf sched record -a), and give it a lower weight or other CPUs"
    elif largest.startswith(KERNEL_THREADS):
        advice = (
            f"{plain(largest)} is a kernel thread: look for what feeds it (interrupts, write-back, memory), not for its"
            " priority"
        )
    found.append(fix(advice))
    return found


def _niced(model: Model, pid: int, nice: int) -> Remedy:
    """Return what takes back a nice value: a trial of a process of one thread, for each thread has its own value."""
    if sum(thread.threads for thread in model.threads if thread.pid == pid) == 1:
        return attempt(f"renice -n 0 -p {pid}", f"renice -n {nice} -p {pid}", f"nice {nice}")
    return fix(f"renice -n 0 -p $(ls /proc/{pid}/task): first note what each thread has, ps -Lo tid,ni -p {pid}")


def _weight(model: Model) -> Remedy | None:
    group = own_group(model)
    if group is None or not group.weight:
        return None
    wanted = min(LARGEST_WEIGHT.get(group.version, LARGEST_WEIGHT[2]), WEIGHT_FACTOR * group.weight)
    name = "cpu.weight" if group.version == 2 else "cpu.shares"
    return setting(f"{group.path}/{name}", str(wanted), str(group.weight)) if wanted > group.weight else None


__all__ = ["contention"]
