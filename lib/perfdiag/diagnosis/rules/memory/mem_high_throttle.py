"""MEM-HIGH-THROTTLE: the target's cgroup is over its soft limit, memory.high."""

import math
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import steady, time_under
from perfdiag.diagnosis.evidence.memory.group_memory import hidden_remedies, uses
from perfdiag.diagnosis.evidence.memory.memory_high import CGROUP, HIGH, high_rows
from perfdiag.diagnosis.evidence.target import setting, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Evidence, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fix,
    little,
    plain,
    size,
    together,
    total_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.facts.host_facts import MemoryGroup
from perfdiag.model.model import Model


@rule(
    "MEM-HIGH-THROTTLE",
    title="The cgroup is over memory.high, and the kernel slows it down",
    accounts=(CGROUP,),
    meaning=(
        "The target's cgroup, or a parent, uses more than its memory.high. Each thread first reclaims pages of the"
        " group, then the kernel puts it to sleep, up to two seconds at a time. Nothing fails and nothing is killed."
    ),
    measured=(
        "Time in memory.cgroup with the handler of memory.high on the kernel stack (without function names: all of"
        " it, if only memory.high was exceeded), and memory.events of the groups."
    ),
    alternatives="A leak (a higher limit only delays it), or page cache used once.",
    remedies="Raise memory.high, use less memory, or start fewer workers in the group.",
    verify="high in the group's memory.events stops growing.",
    beats=("MEM-CGROUP-LIMIT",),
)
def high_throttle(model: Model) -> Iterable[Outcome]:
    """Judge the time for memory.high by the events of the target's groups."""
    if not model.measured("reclaim") and not high_rows(model):
        reason = "reclaim inside a cgroup was not measured"
        yield Silence("MEM-HIGH-THROTTLE", reason, "see perfdiag check, feature reclaim")
        return
    if rowless := without_rows(model, "MEM-HIGH-THROTTLE", CGROUP):
        yield rowless
        return
    rows = high_rows(model)
    taken_ns = total_ns(rows)
    group = _group(model)
    times = group.events["high"] if group else 0
    if not worth(model, taken_ns):
        yield little(model, "MEM-HIGH-THROTTLE", "memory.high cost", taken_ns, f", exceeded {times:,} times")
        return
    named = all(row.key == HIGH for row in rows)
    evidence = [waits(together(rows), "delays, asleep or reclaiming")]
    if group:
        evidence += [Evidence(_events(group), float(times), "count", "memory.events"), *uses(group)]
    yield conclude(
        model,
        claims_of(rows),
        headline=f"The kernel slows {subject(model)} down: its cgroup is over memory.high",
        claim=(
            f"The kernel slowed {subject(model)} down for {duration(taken_ns)} because it is over memory.high"
            f"{_of(group)}."
        ),
        mechanism=Mechanism.LIMIT,
        doubts=[
            "" if named else "only the group's events show it: kernel functions have no names",
            "" if group else "the group over its memory.high could not be read",
        ],
        evidence=evidence,
        remedies=[*hidden_remedies(group), *_remedies(group)],
        ruled_out=[] if group is None or group.events.get("max", 0) else ["the hard limit: memory.max was not hit"],
        alternatives=["a leak (a higher limit only delays it)", "page cache of the group"],
        verify=steady(f"{group.path}/memory.events", "high") if group else time_under(model, CGROUP),
    )


def _group(model: Model) -> MemoryGroup | None:
    """Return the deepest group over its own memory.high (events include children)."""
    hit = [group for group in model.facts.memory_groups if group.events.get("high", 0)]
    own = [group for group in hit if group.high_bytes is not None and not math.isinf(group.high_bytes)]
    return max(own or hit, key=lambda group: group.depth, default=None)


def _of(group: MemoryGroup | None) -> str:
    if group is None:
        return " of its cgroup"
    limited = group.high_bytes is not None and not math.isinf(group.high_bytes)
    return f" of {plain(group.path)}{f' ({size(group.high_bytes or 0)})' if limited else ''}"


def _events(group: MemoryGroup) -> str:
    usage = f"; {size(group.usage_bytes)} in use" if group.usage_bytes is not None else ""
    return f"high {group.events['high']:,}, max {group.events.get('max', 0):,}{usage} ({plain(group.path)})"


def _remedies(group: MemoryGroup | None) -> list[Remedy]:
    less = fix("use less memory in the group: fewer workers, smaller caches and heaps; or find the leak")
    if group is None or group.high_bytes is None or math.isinf(group.high_bytes):
        return [less]
    present = round(group.high_bytes)
    return [
        setting(f"{group.path}/memory.high", str(round(present * memory_policy.trial_high_factor)), str(present)),
        less,
    ]
