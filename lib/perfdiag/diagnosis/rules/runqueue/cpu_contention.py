"""CPU-CONTENTION: threads wait for a CPU used by other processes."""

from collections.abc import Iterable, Mapping, Sequence

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.cpu.main_work import need_less
from perfdiag.diagnosis.evidence.cpu_affinity import widened_affinity
from perfdiag.diagnosis.evidence.fix_checks import time_under
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
from perfdiag.diagnosis.evidence.runqueue.going_behind import go_behind, perhaps_yielding
from perfdiag.diagnosis.evidence.runqueue.group_weight import more_weight
from perfdiag.diagnosis.evidence.runqueue.precedence import Ahead, ahead
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import without_names
from perfdiag.diagnosis.evidence.runqueue.whole_host import host
from perfdiag.diagnosis.evidence.target import (
    counts_only_in,
    idle_class,
    idle_group,
    niced,
    setting,
    subject,
    yielding,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, runqueue_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import (
    attempt,
    brief,
    duration,
    fault,
    fix,
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

# A single wait with a third of a total below 0.1 s is an accident of scheduling; contention repeats.
ACCIDENT_NS, ACCIDENT_PART = 100_000_000, 1 / 3
SHOWN = 3  # other processes by name
CLAIMED = 2  # of them in the claim
HEADED = 2  # of them in the headline
STAT = "/proc/PID/stat"


@rule(
    "CPU-CONTENTION",
    title="Threads wait for a CPU used by other processes",
    accounts=("runq.busy",),
    meaning=(
        "Threads of the target are runnable, but other processes run on their CPU. The finding names those processes"
        " and their part of the waiting."
    ),
    measured=(
        "Waits from wake-up or preemption to the switch, by the task on the CPU meanwhile, beyond 131 us (a"
        " handover takes that long). A fault needs half the time in waits of 0.5 ms or more; below 0.1 s in all, no"
        " single wait may have a third. If the running task is unknown, the part beyond the target's own CPU time"
        " counts."
    ),
    alternatives=(
        "An affinity or cpuset limits the target to few CPUs. CPU quota (CPU-QUOTA-THROTTLED) and steal (CPU-STOLEN)"
        " are measured apart."
    ),
    remedies="Let the target use more CPUs, raise its CPU weight, lower that of the other process (renice, a lower"
    " weight), or move it. Within one control group only nice values and policies decide, not the group's weight.",
    verify="runq.busy is under 5 % of busy time.",
)
def contention(model: Model) -> Iterable[Outcome]:
    """Judge waits in runq.busy by the tasks outside the target that ran meanwhile."""
    id = "CPU-CONTENTION"
    competing = competition(model)
    wanted = long_ns(competing.neighbours)
    inferred = surely_neighbours(model, competing)
    inferred_ns, unknown_ns = sum(inferred.values()), total_ns(competing.unnamed) - sum(inferred.values())
    wanted |= inferred
    ns = sum(wanted.values())
    if not worth(model, ns):
        yield unnamed(model, id, unknown_ns, ns) or no_competition(model, id, "other processes", ns)
        return
    whole = together(competing.neighbours + competing.unnamed if inferred_ns else competing.neighbours)
    names = _names(competing.neighbours, inferred_ns)
    not_named = f"{duration(inferred_ns)} is inferred: the running process is unknown" if inferred_ns > ns / 10 else ""
    yield conclude(
        model,
        claims(wanted),
        headline=_headline(model, competing.neighbours, inferred_ns),
        claim=_claim(model, names, ns),
        mechanism=Mechanism.BUSY,
        severity=fault(model, ns)
        if typical_ns(whole) >= runqueue_policy.slice_ns and not _is_accident(whole)
        else Severity.INFO,
        doubts=[not_named, *what_is_missing(model, competing, ns, unknown_ns)],
        evidence=[
            *named_waits(competing.neighbours, "other processes", wanted),
            *_shown(names, ns),
            *without_names(model, inferred_ns),
            *_yields(model),
            *host(model),
        ],
        remedies=_remedies(model, competing.neighbours, inferred_ns),
        alternatives=[f"these processes work for {subject(model)} (a local database, a kernel thread)"],
        verify=time_under(model, "runq.busy"),
        others=_others(competing.neighbours),
    )


def _is_accident(waits: Distribution) -> bool:
    return waits.sum_ns < ACCIDENT_NS and waits.max_ns > ACCIDENT_PART * waits.sum_ns


def _yields(model: Model) -> list[Evidence]:
    """Return the policy or nice value of the target's first process with a lower priority."""
    found = [
        Evidence(_yielding(pid, "as SCHED_IDLE", group), IDLE_POLICY, "policy", STAT)
        for pid, group in list(idle_class(model).items())[:1]
    ]
    for pid, nice in [*yielding(model).items(), *niced(model).items()][:1]:
        found.append(Evidence(_yielding(pid, f"at nice {nice}", counts_only_in(model, pid)), float(nice), "nice", STAT))
    return found


def _yielding(pid: int, how: str, group: str) -> str:
    runs = f"process {pid} runs {how}"
    return f"{runs}, effective only inside its {group}" if group else f"{runs}: others go first"


def _claim(model: Model, names: list[str], ns: int) -> str:
    whys = ["SCHED_IDLE" for group in idle_class(model).values() if not group] + [
        f"nice {nice}" for nice in yielding(model).values()
    ]
    yields = "".join(f" It runs at {why}, so others go first." for why in whys[:1])
    behind = first_of(names, CLAIMED)
    return f"Runnable threads waited {duration(ns)} for CPUs used by other processes: {behind}.{yields}"


def _headline(model: Model, rows: Sequence[Row], inferred_ns: int) -> str:
    """Return the headline with the process that had the CPU for most of the waiting, else with the largest two, and why
    it goes first."""
    parts, pids = _by_comm(rows), _pids(rows)
    ranked = sorted(parts, key=lambda comm: (-parts[comm], comm))
    whole = sum(parts.values()) + inferred_ns
    least = next((count for count in (1, HEADED) if 2 * sum(parts[comm] for comm in ranked[:count]) > whole), 0)
    names = [_with_pid(comm, pids.get(comm, [])) for comm in ranked[:least]]
    why = ahead(model, pids[ranked[0]][0]) if least == 1 and pids.get(ranked[0]) else None
    whose = f": {' and '.join(names)}" if names else ""
    return f"Threads wait for a CPU that other processes use{whose}{f', as {why[1]}' if why else ''}"


def _with_pid(comm: str, pids: Sequence[int]) -> str:
    """Return a name with the pid, of several processes of that name with the one that ran longest and their number."""
    more = f" and {len(pids) - 1} more" if len(pids) > 1 else ""
    return f"{brief(plain(comm))} ({pids[0]}{more})" if pids and pids[0] else brief(plain(comm))


def _pids(rows: Iterable[Row]) -> dict[str, list[int]]:
    """Return the pids of each name, the one that was on the CPU for most of the waiting first."""
    found: dict[str, dict[int, int]] = {}
    for (pid, comm), ns in _by_process(rows).items():
        found.setdefault(comm, {})[pid] = ns
    return {comm: sorted(of, key=lambda pid: (-of[pid], pid)) for comm, of in found.items()}


def _by_process(rows: Iterable[Row]) -> dict[tuple[int, str], int]:
    numbers = ((row, row.key.split(":", 2)[1]) for row in rows)
    return sums_by_key(
        ((int(number) if number.isdecimal() else 0, comm_of(row.key)), row.distribution.sum_ns)
        for row, number in numbers
    )


def _others(rows: Iterable[Row]) -> list[Other]:
    """Return the processes on the CPU with their pids, the longest first."""
    found = _by_process(rows)
    largest = sorted(found, key=lambda who: (-found[who], who))[:SHOWN]
    return [Other(pid, plain(comm), Relation.COMPETITOR) for pid, comm in largest]


def _shown(names: list[str], ns: int) -> list[Evidence]:
    """Return the names beyond those in the claim."""
    return [Evidence(f"{', '.join(names)} of the waiting", float(ns), "ns", "ledger")] if len(names) > CLAIMED else []


def _names(rows: Iterable[Row], inferred_ns: int) -> list[str]:
    """Return the processes on the CPU with their part of the waiting, the largest first."""
    parts = _by_comm(rows)
    whole = sum(parts.values()) + inferred_ns
    named = [(part, f"{plain(comm)} {percent(part / whole)}") for comm, part in _felt(parts, whole)[:SHOWN]]
    if inferred_ns:
        named.append((inferred_ns, f"unidentified processes {percent(inferred_ns / whole)}"))
    return [text for _, text in sorted(named, key=lambda each: -each[0])]


def _by_comm(rows: Iterable[Row]) -> dict[str, int]:
    return sums_by_key((comm_of(row.key), row.distribution.sum_ns) for row in rows)


def _felt(parts: Mapping[str, int], whole: int) -> list[tuple[str, int]]:
    """Return the processes worth a name, the largest first; if all are small, the largest anyway."""
    ranked = sorted(parts.items(), key=lambda item: -item[1])
    felt = [(comm, part) for comm, part in ranked if part >= general_policy.worth_share * whole]
    return felt or (ranked if sum(parts.values()) > whole / 2 else [])


def _remedies(model: Model, rows: list[Row], inferred_ns: int) -> list[Remedy]:
    found = [
        attempt(f"chrt -a -o -p 0 {pid}", f"chrt -a -i -p 0 {pid}", "SCHED_IDLE, of its first thread")
        for pid, group in idle_class(model).items()
        if not group
    ][:1]
    if group := idle_group(model):
        found.append(setting(f"{group}/cpu.idle", "0", "1"))
    found += [_niced(model, pid, nice) for pid, nice in (yielding(model) or perhaps_yielding(model)).items()][:1]
    parts = _by_comm(rows)
    whole = sum(parts.values()) + inferred_ns
    felt = [comm for comm, ns in _felt(parts, whole) if ns >= runqueue_policy.lowered_share * whole]
    pids = _pids(rows)
    named = [(plain(comm), pid) for comm in felt if not _of_kernel(comm) for pid in pids[comm] if pid]
    weighed = more_weight(model, [pid for _, pid in named])
    found += [remedy for remedy in (widened_affinity(model), weighed) if remedy]
    advice = go_behind(model, named)
    if not felt:
        advice = "find the process on these CPUs (perf sched record -a), then lower its CPU weight or move it"
    elif _of_kernel(felt[0]):
        advice = _kernel_work(felt[0], pids[felt[0]])
    found.append(fix(advice))
    why = ahead(model, named[0][1]) if named else None
    if why and why[0] in (Ahead.REAL_TIME, Ahead.NICE):
        found.insert(0, found.pop())
    elif why and why[0] is Ahead.WEIGHT and weighed:
        found.remove(weighed)
        found.insert(0, weighed)
    return [found[0], *need_less(model), *found[1:]]


def _of_kernel(comm: str) -> bool:
    return comm.startswith(KERNEL_THREADS)


def _kernel_work(comm: str, pids: Sequence[int]) -> str:
    """Return how to find what a kernel thread works for: its priority is no remedy."""
    look = f"cat /proc/{pids[0]}/stack, several times" if pids and pids[0] else "perf record -a -g"
    if comm.startswith("kworker/"):
        probe = "tracepoint:workqueue:workqueue_execute_start { @[ksym(args->function)] = count(); }"
        look = f"bpftrace -e '{probe}'"
    elif comm.startswith("ksoftirqd/"):
        look = "mpstat -I SCPU 1"
    return f"leave the priority of kernel thread {_with_pid(comm, pids)} alone, and find what it works on: {look}"


def _niced(model: Model, pid: int, nice: int) -> Remedy:
    """Return the remedy for a nice value: a trial for a single-threaded process, because each thread has its own."""
    if sum(thread.threads for thread in model.threads_of(pid)) == 1:
        return attempt(f"renice -n 0 -p {pid}", f"renice -n {nice} -p {pid}", f"nice {nice}")
    return fix(f"renice -n 0 -p $(ls /proc/{pid}/task); note the present values first: ps -Lo tid,ni -p {pid}")
