"""MEM-CGROUP-LIMIT: the target's cgroup is at its memory limit."""

import math
from collections.abc import Iterable, Mapping, Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import checked, steady, time_under, watched
from perfdiag.diagnosis.evidence.memory.group_memory import hidden, hidden_remedies, limit_remedies, uses
from perfdiag.diagnosis.evidence.memory.memory_high import high_rows
from perfdiag.diagnosis.evidence.memory.oom_window import kills_told
from perfdiag.diagnosis.evidence.memory.refaults import of_group
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    brief,
    duration,
    little,
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

# Events of a limit; "low" is a failed protection, no limit.
LIMIT_EVENTS = ("max", "high", "oom", "oom_kill")


@rule(
    "MEM-CGROUP-LIMIT",
    title="The cgroup's memory limit delays the target",
    accounts=(CGROUP, "memory.swap_in", FAULT, READ),
    meaning=(
        "The target's cgroup, or a parent, reached its memory limit. Its threads reclaim the group's own pages or"
        " wait for the OOM killer, even if the host has free memory. (memory.high is MEM-HIGH-THROTTLE.)"
    ),
    measured=(
        "Time in memory.cgroup with the events of the target's groups (memory.events, memory.failcnt in version 1)."
        " Swap-in is claimed, too, if the host reclaimed nothing, and the refaulted part of major faults and disk"
        " reads."
    ),
    alternatives="A leak (a higher limit only delays it), or the group's page cache.",
    remedies="Raise the limit, use less memory, or start fewer workers in the group.",
    verify="max and high in the group's memory.events stop growing.",
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
    """Judge memory.cgroup by the events of the target's memory groups."""
    groups = model.facts.memory_groups
    hit = [group for group in groups if any(group.events.get(event, 0) for event in LIMIT_EVENTS)]
    # The deepest group at its limit is the cause; its parents count the same pages again.
    group = max(hit, key=lambda each: (each.events.get("max", 0) > 0, each.depth), default=None)
    killed = max(0, max((_killed(each) for each in hit), default=0) - kills_told(model))
    reread = _reread_part(model, of_group(group) if group else None)
    claims = _claims(model, group, reread)
    taken_ns = sum(claims.values())
    if not worth(model, taken_ns) and not killed:
        yield from _no_limit(model, hit)
        return
    yield _finding(model, group, claims, reread, killed)


def _finding(model: Model, group: MemoryGroup | None, claims: Mapping[str, int], reread: float, killed: int) -> Finding:
    taken_ns, hanging = sum(claims.values()), len(still_waiting(model, CGROUP))
    name = plain(group.path) if group else "its cgroup"
    at = f" of {_limit_text(group)}" if group and _limit_text(group) else ""
    headline = f"The memory limit{at} of {brief(name)} delays {subject(model)}"
    claim = f"The memory limit{at} of {name} costs {subject(model)} {duration(taken_ns)}."
    if killed:
        claim = f"The OOM killer ended {plural(killed, 'process')} at the memory limit{at} of {name}."
        headline = f"The OOM killer ended {plural(killed, 'process')} at a memory limit of {brief(name)}"
    elif group and (taking := hidden(group)):
        claim += f" {taking[:1].upper()}{taking[1:]} of it."
        read = ", so files are read again and again" if 2 * claims.get(READ, 0) > taken_ns else ""
        headline = f"{taking[:1].upper()}{taking[1:]} of the memory limit{at} of {brief(name)}{read}"
    if hanging and not killed:
        claim += f" {plural(hanging, 'thread')} still waited at the end."
    most = sorted(claims, key=lambda name: -claims[name])
    evidence = [waits(together(model.rows_of(name)), f"waits in {name}") for name in most]
    if group:
        evidence.append(Evidence(_events(group), float(group.events.get("max", 0)), "count", _probe(group)))
        evidence.extend(uses(group))
    own = of_group(group) if group else None
    evicted = READ in claims or FAULT in claims
    if evicted:
        text = f"{percent(reread)} of the bytes read were of evicted pages"
        probe = f"{'/proc/vmstat' if own is None else 'memory.stat'}, /proc/PID/io"
        evidence.append(Evidence(text, reread, "share", probe))
    return conclude(
        model,
        {name: ns for name, ns in claims.items()},
        headline=headline,
        claim=claim,
        mechanism=Mechanism.LIMIT,
        severity=Severity.CRITICAL if killed else None,
        doubts=[
            "" if model.facts.memory_groups else f"{subject(model)}'s memory groups could not be read",
            "" if model.measured("reclaim") else "reclaim inside a cgroup was not measured",
            "evicted pages are counted for the whole host only" if evicted and own is None else "",
        ],
        evidence=evidence,
        remedies=[*hidden_remedies(group), *limit_remedies(group)],
        alternatives=["a leak (a higher limit only delays it)", "page cache of the group"],
        verify=_check(group) if group else time_under(model, CGROUP),
    )


def _no_limit(model: Model, hit: Sequence[MemoryGroup]) -> Iterable[Outcome]:
    """Yield the check of no costly limit, as far as measured."""
    reclaim = model.measured("reclaim")
    if model.facts.memory_groups or reclaim:
        events = sum(group.events.get("max", 0) for group in hit)
        ns = model.ns(CGROUP) - total_ns(high_rows(model))
        yield little(model, "MEM-CGROUP-LIMIT", "cgroup memory limit", ns, f", hit {events:,} times")
    if not reclaim:
        reason = "reclaim inside a cgroup was not measured"
        yield Silence("MEM-CGROUP-LIMIT", reason, "see perfdiag check, feature reclaim")


def _killed(group: MemoryGroup) -> int:
    """Return how many processes the group's own limit killed; version 2 also counts victims of the host."""
    return group.events.get("oom_kill", 0) if group.version == 1 or group.events.get("oom") else 0


def _claims(model: Model, group: MemoryGroup | None, reread: float) -> dict[str, int]:
    """Return the claims: swap and refaults only if the host itself was not short of memory."""
    host = [model.facts.vmstat_delta("allocstall"), model.facts.vmstat_delta("pgscan_kswapd")]
    parts = {CGROUP: 1.0}
    if group and group.events.get("max", 0) and all(counter == 0 for counter in host):
        parts["memory.swap_in"] = 1.0
        # Page cache at the limit is normal; first reads come from disk anyway.
        if reread >= memory_policy.reread_share:
            parts |= {READ: reread, FAULT: reread}
    wanted = {name: round(part * model.ns(name)) for name, part in parts.items()}
    wanted[CGROUP] -= total_ns(high_rows(model))  # memory.high has its own rule
    return {name: ns for name, ns in wanted.items() if ns > 0}


def _reread_part(model: Model, own: int | None) -> float:
    """Return the refaulted part of the bytes read; 0 if unknown."""
    refaults = model.facts.vmstat_delta("workingset_refault_file") if own is None else own
    read = sum(process.read_bytes or 0 for process in model.facts.processes.values())
    return min(1.0, refaults * model.page_bytes / read) if refaults and read else 0.0


def _check(group: MemoryGroup) -> str:
    path = f"{group.path}/{_probe(group)}"
    if group.version == 2:
        return steady(path, "max")
    return checked(watched("cat", path), "the count stays the same")


def _probe(group: MemoryGroup) -> str:
    """Return the file with the count of limit hits."""
    return "memory.events" if group.version == 2 else "memory.failcnt"


def _events(group: MemoryGroup) -> str:
    # Version 1 has only a count of failed charges.
    names = {"max": "at the limit", "high": "over memory.high"}
    counts = ", ".join(
        f"{names.get(name, name)} {plural(group.events[name], 'time')}"
        for name in LIMIT_EVENTS
        if group.events.get(name)
    )
    usage = f"; {size(group.usage_bytes)} in use" if group.usage_bytes is not None else ""
    limit = f" of {_limit_text(group)}" if usage and _limit_text(group) else ""
    return f"{counts}{usage}{limit} ({plain(group.path)})"


def _limit_text(group: MemoryGroup) -> str:
    nearest = min(group.limit_bytes or math.inf, group.high_bytes or math.inf)
    return "" if math.isinf(nearest) else size(nearest)
