"""NUMA-REMOTE: the target uses memory of another NUMA node."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.fix_checks import part_under
from perfdiag.diagnosis.evidence.target import CPU, allowed_cpus, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import (
    Check,
    Claim,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, worth
from perfdiag.facts.cpu_sets import cpu_list
from perfdiag.facts.host_facts import NumaNode
from perfdiag.model.model import Model

# Firmware declares 10 for local memory; distance / 10 bounds the slowdown.
LOCAL_DISTANCE = 10


@rule(
    "NUMA-REMOTE",
    title="The target uses memory of another NUMA node",
    accounts=CPU,
    meaning=(
        "The host has several memory nodes, and the target's CPUs use memory of another one. Each cache miss takes up"
        " to twice as long, so part of the CPU time is waiting for memory."
    ),
    measured=(
        "If the allowed CPUs and memory nodes do not meet, all memory is remote. Otherwise NUMA hinting faults"
        " (numa_hint_faults), else pages allocated on another node (numastat), both for the whole host. The firmware's"
        " distances bound the loss at (1 - 10/distance) of CPU time."
    ),
    alternatives="Allocations of other processes. Code in its caches loses nothing.",
    remedies="Keep threads and memory on one node, or interleave shared memory.",
    verify="numastat -p PID shows the pages on the node of its CPUs.",
    beats=(
        "CPU-BOUND",
        "CPU-KERNEL-HEAVY",
        "CPU-SINGLE-THREAD",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
    ),
    multiplier=True,
    met=False,
)
def remote(model: Model) -> Iterable[Outcome]:
    """Judge the target's CPU time by allowed CPUs and nodes, hinting faults and allocations."""
    nodes = [node for node in model.facts.numa_nodes if node.total_bytes != 0]
    if not nodes:
        yield Silence(
            "NUMA-REMOTE",
            f"memory nodes are unknown: {model.facts.reason('numa_nodes') or 'none recorded'}",
            "numactl --hardware",
        )
        return
    if len(nodes) == 1:
        yield Check("NUMA-REMOTE", "one memory node: no memory is remote", 1.0, "count")
        return
    if not worth(model, model.ns(*CPU)):
        return
    parted = _parted(model, nodes)
    if parted:
        yield _finding(
            model,
            nodes,
            1.0,
            Confidence.HIGH,
            parted,
            ["the share is an upper bound: waiting for memory was not measured"],
        )
        return
    faults, local_faults = (model.facts.vmstat_delta(f"numa_hint_faults{part}") for part in ("", "_local"))
    if faults is not None and local_faults is not None and faults >= memory_policy.numa_faults:
        yield _by_faults(model, nodes, faults, local_faults)
        return
    yield _by_allocations(model, nodes)


def _by_allocations(model: Model, nodes: Sequence[NumaNode]) -> Finding | Silence:
    """Judge by where the whole host's pages were allocated: the weakest evidence, where there is no other."""
    counts = [(node.local, node.other) for node in nodes if node.local is not None and node.other is not None]
    local, other = sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)
    part = other / (local + other) if local + other else 0.0
    if local + other < memory_policy.numa_pages:
        return Silence(
            "NUMA-REMOTE",
            f"{len(nodes)} memory nodes; the node of {subject(model)}'s memory was not measured"
            f" ({local + other:,} pages allocated in the window)",
            "numastat -p PID",
        )
    if part < memory_policy.numa_remote_share:
        return Silence(
            "NUMA-REMOTE",
            f"{percent(1 - part)} of the host's allocations were local; the node of {subject(model)}'s older memory"
            " was not measured",
            "numastat -p PID",
        )
    return _finding(
        model,
        nodes,
        part,
        Confidence.MEDIUM,
        f"{percent(part)} of {local + other:,} pages were allocated on another node",
        ["allocations are counted for the whole host"],
    )


def _by_faults(model: Model, nodes: Sequence[NumaNode], faults: int, local: int) -> Finding | Check:
    """Judge by NUMA hinting faults: they cover old memory, too."""
    part = max(0.0, 1 - local / faults)
    moved, missed = model.facts.vmstat_delta("numa_pages_migrated"), model.facts.vmstat_delta("numa_miss")
    rest = f", {moved:,} pages moved" if moved is not None else ""
    rest += f", {missed:,} allocated on another node because one was full" if missed is not None else ""
    if part < memory_policy.numa_remote_share:
        text = f"NUMA: {percent(1 - part)} of {faults:,} sampled accesses on the host were local{rest}"
        return Check("NUMA-REMOTE", text, part, "share")
    why = f"{percent(part)} of {faults:,} sampled accesses were to another node{rest}"
    return _finding(model, nodes, part, Confidence.MEDIUM, why, ["accesses are counted for the whole host"])


def _finding(
    model: Model, nodes: Sequence[NumaNode], part: float, best: Confidence, why: str, limits: list[str]
) -> Finding:
    farthest = max((distance for node in nodes for distance in node.distances), default=LOCAL_DISTANCE)
    known = farthest > LOCAL_DISTANCE
    bound = 1 - LOCAL_DISTANCE / farthest if known else 0.0
    claims: dict[Claim, int] = {account: ns for account in CPU if (ns := round(model.ns(account) * part * bound))}
    return conclude(
        model,
        claims,
        headline=f"{subject(model, begin=True)} uses memory of another NUMA node",
        claim=f"{why[0].upper()}{why[1:]}. Up to {duration(sum(claims.values()))} of CPU time waits for remote memory.",
        mechanism=Mechanism.SLOW,
        departs=known,
        best=best,
        doubts=[*limits, "" if known else "the distances of the nodes are unknown"],
        evidence=[
            Evidence(
                f"{len(nodes)} memory nodes, largest distance {farthest} (local: {LOCAL_DISTANCE})",
                float(farthest),
                "count",
                "/sys/devices/system/node",
            ),
            Evidence(why, part, "share", "numastat, vmstat, /proc/PID/status"),
        ],
        remedies=_remedies(),
        alternatives=["code in its caches loses nothing"],
        verify=part_under(model, "accesses to another node", "all", part, memory_policy.numa_remote_share),
    )


def _parted(model: Model, nodes: Sequence[NumaNode]) -> str:
    """Return why all memory must be remote, "" if it need not be."""
    cpus = allowed_cpus(model)
    for process in model.facts.processes.values():
        allowed = cpu_list(process.status.get("Mems_allowed_list"))
        if not cpus or not allowed:
            continue
        near = {node.node for node in nodes if (own := cpu_list(node.cpus)) and own & cpus}
        if near and not near & allowed:
            return f"its CPUs are on node {_numbers(near)}, its memory is limited to node {_numbers(allowed)}"
    return ""


def _numbers(nodes: Iterable[int]) -> str:
    return ",".join(str(node) for node in sorted(nodes))


def _remedies() -> list[Remedy]:
    return [
        fix(
            "start it on one node: numactl --cpunodebind=N --preferred=N COMMAND (not --membind: a full node kills or"
            " swaps it), or NUMAPolicy=preferred and NUMAMask=N in its unit"
        ),
        fix("if it needs more than one node: numactl --interleave=all COMMAND"),
    ]
