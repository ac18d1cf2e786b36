"""A rule on the memory limit of the target's control group."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.memory.memory_high import high_rows
from perfdiag.diagnosis.evidence.memory.refaults import of_group
from perfdiag.diagnosis.evidence.target import again, subject
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
from perfdiag.diagnosis.significance import (
    brief,
    duration,
    fault,
    fix,
    judged,
    percent,
    plain,
    size,
    still_waiting,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.facts.host_facts import MemoryGroup
from perfdiag.model.model import Model

CGROUP, READ, FAULT = "memory.cgroup", "disk.read", "memory.major_fault"

# Reads follow from the limit where at least half of them bring back what was in memory before.
REREAD_PART = 0.5
# Events of a group that hit its limit; "low" is a protection that did not hold, and no limit.
LIMIT_EVENTS = ("max", "high", "oom", "oom_kill")


@rule(
    "MEM-CGROUP-LIMIT",
    title="The memory limit of its cgroup stops the target",
    accounts=(CGROUP, "memory.swap_in", FAULT, READ),
    meaning="The target's cgroup, or one above it, reached its memory limit: its threads reclaim the group's own pages,"
    " or wait for the OOM killer, although the host may have memory to spare. (The soft limit, memory.high, is"
    " MEM-HIGH-THROTTLE.)",
    measured="Waits and CPU time of memory.cgroup over the window, joined with the events of the target's groups"
    " (memory.events max, high, oom; memory.failcnt in version 1) in the same window. Swap-in is claimed too where"
    " the group hit its limit and the host itself reclaimed nothing; and so are major faults and reads from disk, by"
    " the part of them that were of evicted pages (refaults of the group, or of the host where"
    " it counts none, against bytes read by the target).",
    alternatives="A leak that any limit would only delay; page cache of the group that could be written earlier.",
    remedies="Raise the limit, use less memory, or start fewer workers in the group.",
    verify="cat memory.events of the group (memory.failcnt in version 1), twice: max and high stand still.",
    beats=(
        "MEM-RECLAIM",
        "MEM-SWAP-IN",
        "MEM-MAJOR-FAULTS",
        "MEM-CACHE-MISSES",
        "DISK-READ-SLOW",
        "DISK-QUEUEING",
        "DISK-SATURATED",
        "DIR-HUGE",
        "DISK-MEMBER-SLOW",
        "DISK-THROTTLED",
        "STORAGE-LOOP",
    ),
)
def cgroup_limit(model: Model) -> Iterable[Outcome]:
    """Join memory.cgroup with the events of the target's memory groups."""
    groups = model.facts.memory_groups
    hit = [group for group in groups if any(group.events.get(event, 0) for event in LIMIT_EVENTS)]
    # The deepest group that hit its limit is the nearest cause; above it the same pages are counted again.
    group = max(hit, key=lambda each: (each.events.get("max", 0) > 0, each.depth), default=None)
    killed = max((_killed(each) for each in hit), default=0)
    own = of_group(group) if group else None
    reread = _reread_part(model, own)
    claims = _claims(model, group, reread)
    taken_ns = sum(claims.values())
    hanging = still_waiting(model, CGROUP)
    if not worth(model, taken_ns) and not killed:
        yield from _no_limit(model, hit)
        return
    limits = [
        "" if groups else f"{subject(model)}'s memory groups could not be read",
        "" if model.measured("reclaim") else "reclaim inside a cgroup was not measured",
    ]
    evidence = [waits(together(model.rows_of(name)), f"times in {name}") for name in claims]
    if group:
        evidence.append(Evidence(_events(group), float(group.events.get("max", 0)), "count", _probe(group)))
    if READ in claims or FAULT in claims:
        if own is None:
            limits.append("that reads are of evicted pages is told by counters of the whole host")
        evidence.append(
            Evidence(
                f"{percent(reread)} of what {subject(model)} read had been in memory and was evicted",
                reread,
                "share",
                f"{'/proc/vmstat' if own is None else 'memory.stat'}, /proc/PID/io",
            )
        )
    confidence, all_limits = judged(model, Confidence.HIGH, limits)
    name = plain(group.path) if group else "its cgroup"
    at = f" of {_limit_text(group)}" if group and _limit_text(group) else ""
    headline = f"The memory limit{at} of {brief(name)} holds {subject(model)} up"
    claim = f"The memory limit{at} of {name} costs {subject(model)} {duration(taken_ns)}."
    if killed:
        claim = f"The OOM killer ended {killed} process{'es' * (killed > 1)} at the memory limit{at} of {name}."
        headline = f"The OOM killer ended {plural(killed, 'process')} at a memory limit of {brief(name)}"
    elif hanging:
        claim += f" {len(hanging)} of its threads still waited at the end."
    yield Finding(
        "MEM-CGROUP-LIMIT",
        Severity.CRITICAL if killed else fault(model, taken_ns),
        confidence,
        claim,
        {name: ns for name, ns in claims.items()},
        evidence,
        _limit_remedies(group),
        alternatives=["a leak, which a higher limit only delays", "page cache that counts against the group"],
        limits=all_limits,
        verify=f"cat {shlex.quote(f'{group.path}/{_probe(group)}')}, twice" if group else again(model),
        headline=headline,
        mechanism=Mechanism.LIMIT,
    )


def _no_limit(model: Model, hit: Sequence[MemoryGroup]) -> Iterable[Outcome]:
    """Yield that no limit costs time worth naming, as far as that was measured."""
    reclaim = model.measured("reclaim")
    if model.facts.memory_groups or reclaim:
        events = sum(group.events.get("max", 0) for group in hit)
        share = (model.ns(CGROUP) - total_ns(high_rows(model))) / model.busy_ns if model.busy_ns else 0.0
        text = f"cgroup memory limit {percent(share)} of busy time, hit {events:,} times"
        yield Check("MEM-CGROUP-LIMIT", text, share, "share")
    if not reclaim:
        reason = "reclaim inside a cgroup was not measured"
        yield Silence("MEM-CGROUP-LIMIT", reason, "see perfdiag check, feature reclaim")


def _killed(group: MemoryGroup) -> int:
    """Return how many processes the group's own limit killed: version 2 also counts victims of the host's shortage."""
    return group.events.get("oom_kill", 0) if group.version == 1 or group.events.get("oom") else 0


def _claims(model: Model, group: MemoryGroup | None, reread: float) -> dict[str, int]:
    """Return what the limit explains: swap, and what is read again, only if nothing else was short of memory."""
    host = [model.facts.vmstat_delta("allocstall"), model.facts.vmstat_delta("pgscan_kswapd")]
    parts = {CGROUP: 1.0}
    if group and group.events.get("max", 0) and all(counter == 0 for counter in host):
        parts["memory.swap_in"] = 1.0
        # Page cache at its limit is normal: a page that is read or touched for the first time comes from disk anyway.
        if reread >= REREAD_PART:
            parts |= {READ: reread, FAULT: reread}
    wanted = {name: round(part * model.ns(name)) for name, part in parts.items()}
    wanted[CGROUP] -= total_ns(high_rows(model))  # the soft limit has a rule of its own
    return {name: ns for name, ns in wanted.items() if ns > 0}


def _reread_part(model: Model, own: int | None) -> float:
    """Return which part of the bytes the target read came back after eviction; 0 where that is not known."""
    refaults = model.facts.vmstat_delta("workingset_refault_file") if own is None else own
    read = sum(process.read_bytes or 0 for process in model.facts.processes.values())
    return min(1.0, refaults * model.page_bytes / read) if refaults and read else 0.0


def _probe(group: MemoryGroup) -> str:
    """Return the file that counts how often the group hit its limit."""
    return "memory.events" if group.version == 2 else "memory.failcnt"


def _events(group: MemoryGroup) -> str:
    # Version 1 has no events but a count of charges that failed.
    names = {"max": "failcnt"} if group.version == 1 else {}
    counts = ", ".join(
        f"{names.get(name, name)} {group.events[name]:,}" for name in LIMIT_EVENTS if group.events.get(name)
    )
    usage = f"; uses {size(group.usage_bytes)}" if group.usage_bytes is not None else ""
    limit = f" of {_limit_text(group)}" if usage and _limit_text(group) else ""
    return f"{plain(group.path)}: {counts}{usage}{limit}"


def _limit_text(group: MemoryGroup) -> str:
    nearest = min(group.limit_bytes or math.inf, group.high_bytes or math.inf)
    return "" if math.isinf(nearest) else size(nearest)


def _limit_remedies(group: MemoryGroup | None) -> list[Remedy]:
    remedies = [fix("use less: fewer workers, smaller caches and heaps in the group; or find the leak")]
    if group is None:
        return remedies
    if group.limit_bytes and not math.isinf(group.limit_bytes):
        # No trial: lowering a hard limit again below what is in use calls the OOM killer.
        name = "memory.max" if group.version == 2 else "memory.limit_in_bytes"
        remedies.insert(
            0,
            fix(
                f"raise {name} of {plain(group.path)} (present {size(group.limit_bytes)}) where it is configured: the "
                "unit, the container or the pod; lowering it again below what is in use kills processes"
            ),
        )
    return remedies


__all__ = ["cgroup_limit"]
