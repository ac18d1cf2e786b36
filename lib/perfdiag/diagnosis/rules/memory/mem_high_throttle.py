"""A rule on the soft memory limit of the target's control group: memory.high, which slows down who is over it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.memory.memory_high import CGROUP, HIGH, high_rows
from perfdiag.diagnosis.evidence.target import again, setting, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fault,
    fix,
    judged,
    percent,
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

# The least step that shows whether a limit is the cause: a quarter more.
MORE = 1.25


@rule(
    "MEM-HIGH-THROTTLE",
    title="The target is over memory.high of its cgroup and is slowed down for it",
    accounts=(CGROUP,),
    meaning="The target's cgroup, or one above it, uses more than its memory.high: each thread that charges more memory"
    " first reclaims pages of the group itself, and where that is not enough it is put to sleep, up to two seconds at a"
    " time. Nothing fails and nothing is killed, so that only the clock shows it.",
    measured="Time of memory.cgroup whose kernel stack has the handling of memory.high on it, asleep or reclaiming"
    " (where the kernel's functions have no names: all of it, if only memory.high was exceeded in the window); joined"
    " with memory.events of the target's groups in the same window.",
    alternatives="A leak, which a higher limit only delays; page cache of the group that is used once.",
    remedies="Raise memory.high, use less memory, or start fewer workers in the group.",
    verify="cat memory.events of the group, twice: high stands still.",
    beats=("MEM-CGROUP-LIMIT",),
)
def high_throttle(model: Model) -> Iterable[Outcome]:
    """Join the time spent for memory.high with the events of the target's groups."""
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
        share = taken_ns / model.busy_ns if model.busy_ns else 0.0
        text = f"slowed down by memory.high {percent(share)} of busy time, exceeded {times:,} times"
        yield Check("MEM-HIGH-THROTTLE", text, share, "share")
        return
    named = all(row.key == HIGH for row in rows)
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "" if named else "told by the group's events alone: the kernel's functions have no names",
            "" if group else "the group that exceeded its memory.high could not be read",
        ],
    )
    evidence = [waits(together(rows), "times over memory.high, asleep or reclaiming")]
    if group:
        evidence.append(Evidence(_events(group), float(times), "count", "memory.events"))
    yield Finding(
        "MEM-HIGH-THROTTLE",
        fault(model, taken_ns),
        confidence,
        f"{subject(model, begin=True)} is over memory.high{_of(group)} and is slowed down for it:"
        f" {duration(taken_ns)}.",
        claims_of(rows),
        evidence,
        _remedies(group),
        ruled_out=[] if group is None or group.events.get("max", 0) else ["the hard limit: memory.max was never hit"],
        alternatives=["a leak, which a higher limit only delays", "page cache that counts against the group"],
        limits=limits,
        verify=f"cat {shlex.quote(f'{group.path}/memory.events')}, twice: high stands still" if group else again(model),
        headline=f"{subject(model, begin=True)} is over memory.high and is slowed down for it",
        mechanism=Mechanism.LIMIT,
    )


def _group(model: Model) -> MemoryGroup | None:
    """Return the deepest group that exceeded its own memory.high (events count what is below, too)."""
    hit = [group for group in model.facts.memory_groups if group.events.get("high", 0)]
    own = [group for group in hit if group.high_bytes is not None and not math.isinf(group.high_bytes)]
    return max(own or hit, key=lambda group: group.depth, default=None)


def _of(group: MemoryGroup | None) -> str:
    if group is None:
        return " of its cgroup"
    limited = group.high_bytes is not None and not math.isinf(group.high_bytes)
    return f" of {plain(group.path)}{f', {size(group.high_bytes or 0)},' if limited else ''}"


def _events(group: MemoryGroup) -> str:
    usage = f"; uses {size(group.usage_bytes)}" if group.usage_bytes is not None else ""
    return f"{plain(group.path)}: high {group.events['high']:,}, max {group.events.get('max', 0):,}{usage}"


def _remedies(group: MemoryGroup | None) -> list[Remedy]:
    less = fix("use less: fewer workers, smaller caches and heaps in the group; or find the leak")
    if group is None or group.high_bytes is None or math.isinf(group.high_bytes):
        return [less]
    present = round(group.high_bytes)
    return [setting(f"{group.path}/memory.high", str(round(present * MORE)), str(present)), less]


__all__ = ["high_throttle"]
