"""A rule on memory that lies on another NUMA node than the CPUs that use it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.target import CPU, again, allowed_cpus, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, worth
from perfdiag.facts.cpu_sets import cpu_list
from perfdiag.facts.host_facts import NumaNode
from perfdiag.model.model import Model

# Firmware declares 10 for a node's own memory; the distance of another, divided by it, bounds how much longer it takes.
LOCAL_DISTANCE = 10
# Of fewer pages the share of remote ones says nothing about a program's memory.
ENOUGH_PAGES = 10_000
# A scheduler that balances leaves some percent remote; from a third on threads and memory have been parted.
REMOTE_PART = 0.33
# Of fewer faults that the kernel provoked to see who uses which page, the share of local ones says nothing.
ENOUGH_FAULTS = 1000


@rule(
    "NUMA-REMOTE",
    title="Memory lies on another NUMA node",
    accounts=CPU,
    meaning="The host has several memory nodes, and the target's CPUs use memory of another one: each miss of the"
    " caches takes up to twice as long. The CPU time is then partly waiting for memory.",
    measured="CPUs and memory nodes the target may use (affinity, cpuset): if they do not meet, all its memory is"
    " remote. Otherwise, where the kernel balances memory, the faults it provokes to see who uses which page"
    " (numa_hint_faults); else pages allocated in the window on a node other than the allocating CPU's (numastat). Both"
    " are of the whole host, begin to end. The firmware's distances bound the loss: at most (1 - 10/distance) of the"
    " CPU time, reached only by code that does nothing but wait for memory. It takes its fraction of what more specific"
    " findings leave.",
    alternatives="Other processes' allocations (the counters are the host's); code that lives in its caches and loses"
    " nothing.",
    remedies="Keep threads and memory on one node, or interleave what all nodes share.",
    verify="numastat -p PID: the pages lie on the node of its CPUs.",
    beats=(
        "CPU-BOUND",
        "CPU-KERNEL-HEAVY",
        "CPU-SINGLE-THREAD",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
    ),
    multiplier=True,
)
def remote(model: Model) -> Iterable[Outcome]:
    """Join allowed CPUs, allowed memory nodes and allocation counters with the target's CPU time."""
    nodes = [node for node in model.facts.numa_nodes if node.total_bytes != 0]
    if not nodes:
        yield Silence(
            "NUMA-REMOTE",
            f"memory nodes are not known: {model.facts.reason('numa_nodes') or 'none recorded'}",
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
            ["how much of the CPU time waits for memory was not measured: the share is a bound"],
        )
        return
    faults, local_faults = (model.facts.vmstat_delta(f"numa_hint_faults{part}") for part in ("", "_local"))
    if faults is not None and local_faults is not None and faults >= ENOUGH_FAULTS:
        yield _by_faults(model, nodes, faults, local_faults)
        return
    counts = [(node.local, node.other) for node in nodes if node.local is not None and node.other is not None]
    local, other = sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)
    part = other / (local + other) if local + other else 0.0
    if local + other < ENOUGH_PAGES:
        yield Silence(
            "NUMA-REMOTE",
            f"{len(nodes)} memory nodes; where {subject(model)}'s memory lies was not measured"
            f" ({local + other:,} pages allocated in the window)",
            "numastat -p PID",
        )
    elif part < REMOTE_PART:
        yield Silence(
            "NUMA-REMOTE",
            f"{percent(1 - part)} of the host's allocations in the window were local; where"
            f" older memory of {subject(model)} lies was not measured",
            "numastat -p PID",
        )
    else:
        yield _finding(
            model,
            nodes,
            part,
            Confidence.MEDIUM,
            f"{percent(part)} of {local + other:,} pages were allocated on"
            " another node than that of the CPU that asked",
            ["the allocations are those of the whole host"],
        )


def _by_faults(model: Model, nodes: Sequence[NumaNode], faults: int, local: int) -> Finding | Check:
    """Judge by the accesses that the kernel has looked at: of old memory, too, not of new pages only."""
    part = max(0.0, 1 - local / faults)
    moved, missed = model.facts.vmstat_delta("numa_pages_migrated"), model.facts.vmstat_delta("numa_miss")
    rest = f", {moved:,} pages moved" if moved is not None else ""
    rest += f", {missed:,} allocated elsewhere for want of room" if missed is not None else ""
    if part < REMOTE_PART:
        text = f"NUMA {percent(1 - part)} local of {faults:,} accesses looked at on the host{rest}"
        return Check("NUMA-REMOTE", text, part, "share")
    why = f"{percent(part)} of {faults:,} accesses that the kernel looked at were to another node{rest}"
    return _finding(model, nodes, part, Confidence.MEDIUM, why, ["the accesses are those of the whole host"])


def _finding(
    model: Model, nodes: Sequence[NumaNode], part: float, best: Confidence, why: str, limits: list[str]
) -> Finding:
    farthest = max((distance for node in nodes for distance in node.distances), default=LOCAL_DISTANCE)
    known = farthest > LOCAL_DISTANCE
    bound = 1 - LOCAL_DISTANCE / farthest if known else 0.0
    claims: dict[str | tuple[str, str], int] = {
        account: ns for account in CPU if (ns := round(model.ns(account) * part * bound))
    }
    confidence, limits_found = judged(
        model, best, [*limits, "" if known else "the distances of the nodes are not known: no bound of the loss"]
    )
    ns = sum(claims.values())
    return Finding(
        "NUMA-REMOTE",
        fault(model, ns) if known else Severity.INFO,
        confidence,
        f"Memory is remote: {why}. At most {duration(ns)} of CPU time is waiting for it.",
        claims,
        [
            Evidence(
                f"{len(nodes)} memory nodes, farthest distance {farthest} (own: {LOCAL_DISTANCE})",
                float(farthest),
                "count",
                "/sys/devices/system/node",
            ),
            Evidence(why, part, "share", "numastat, vmstat, /proc/PID/status"),
        ],
        _remedies(),
        alternatives=["code that stays in its caches loses nothing"],
        limits=limits_found,
        verify=f"numastat -p PID; {again(model)}: CPU time of the same work",
        headline="Much of its memory is on another NUMA node",
        mechanism=Mechanism.SLOW,
    )


def _parted(model: Model, nodes: Sequence[NumaNode]) -> str:
    """Return why all memory must be remote, "" where it need not be."""
    cpus = allowed_cpus(model)
    for process in model.facts.processes.values():
        allowed = cpu_list(process.status.get("Mems_allowed_list"))
        if not cpus or not allowed:
            continue
        near = {node.node for node in nodes if (own := cpu_list(node.cpus)) and own & cpus}
        if near and not near & allowed:
            return f"its CPUs belong to node {_numbers(near)}, its memory may only come from node {_numbers(allowed)}"
    return ""


def _numbers(nodes: Iterable[int]) -> str:
    return ",".join(str(node) for node in sorted(nodes))


def _remedies() -> list[Remedy]:
    return [
        fix(
            "start it on one node: numactl --cpunodebind=N --preferred=N COMMAND (--membind instead would end it, or"
            " swap, when the node is full), or NUMAPolicy=preferred and NUMAMask=N of its unit"
        ),
        fix("what is larger than one node: numactl --interleave=all COMMAND"),
    ]


__all__ = ["remote"]
