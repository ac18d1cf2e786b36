"""A rule on writers that are paused because too many pages wait to be written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from perfdiag.findings.base import Confidence, Evidence, Finding, Outcome, Remedy, Silence, rule
from perfdiag.findings.weigh import (
    by_key,
    duration,
    fault,
    fine,
    fix,
    judged,
    plain,
    size,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model import Model, Row

DIRTY = "memory.dirty_throttle"

# A target that wrote less than a fifth of what its device took is paused for the writes of others.
VICTIM_PART = 0.2


@rule(
    "MEM-DIRTY-THROTTLE",
    title="Writers are paused because too many pages wait to be written",
    accounts=(DIRTY,),
    meaning="The kernel pauses writers in write() when more pages are dirty than it allows, until the device or server"
    " has caught up. Victims pay for others: any slow device can fill the host's dirty limit.",
    measured="Joins pauses by the device the thread wrote to with what the target itself wrote (/proc/PID/io) and what"
    " the device took, and with dirty pages and thresholds, all over the window.",
    alternatives="The target writes faster than its device can; a neighbour does; a slow mount holds the dirty pages of"
    " the whole host.",
    remedies="Find who dirties the pages; limit the share of a slow mount; write less or to a faster device.",
    verify="perfdiag latency again: memory.dirty_throttle; grep -e Dirty -e Writeback /proc/meminfo.",
)
def dirty(model: Model) -> Iterable[Outcome]:
    """Join dirty throttling by device with who wrote."""
    if not model.measured("dirty_throttle"):
        yield Silence(
            "MEM-DIRTY-THROTTLE", "pauses of writers were not measured", "see perfdiag check, feature dirty_throttle"
        )
        return
    rows = model.rows_of(DIRTY)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "MEM-DIRTY-THROTTLE", "pauses for dirty pages", DIRTY)
        return
    for claim, group in by_key(rows).items():
        if worth(model, total_ns(group)):
            yield _dirty_finding(model, claim, group)


def _dirty_finding(model: Model, claim: tuple[str, str], group: list[Row]) -> Finding:
    taken_ns = total_ns(group)
    number = re.fullmatch(r"device:([0-9]+:[0-9]+)", claim[1])  # anything else is no part of a command
    device = number[1] if number else ""
    name = plain(group[0].object or "an unnamed device")
    mount = model.facts.mount_of(device) if device else None
    evidence = [waits(together(group), f"pauses writing to {name}")]
    dirty_limits = model.facts.dirty_limits
    if dirty_limits and dirty_limits.dirty_bytes is not None and dirty_limits.threshold_bytes:
        evidence.append(
            Evidence(
                f"{size(dirty_limits.dirty_bytes)} dirty at the end, writers are stopped at"
                f" {size(dirty_limits.threshold_bytes)}",
                float(dirty_limits.dirty_bytes),
                "bytes",
                "/proc/meminfo",
            )
        )
    own, taken = _written(model, device)
    victim = own is not None and bool(taken) and own < VICTIM_PART * (taken or 0)
    if own is not None and taken:
        evidence.append(
            Evidence(
                f"the target wrote {size(own)}, {name} took {size(taken)}",
                own / taken,
                "share",
                "/proc/PID/io, /proc/diskstats",
            )
        )
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        ["" if own is not None and taken else "not known whether the target or others wrote most of the dirty pages"],
    )
    place = plain(mount.mountpoint) if mount else name
    text, remedies = _judgement(place, device, taken_ns, victim=victim)
    return Finding(
        "MEM-DIRTY-THROTTLE",
        fault(model, taken_ns),
        confidence,
        text,
        {claim: taken_ns},
        evidence,
        remedies,
        alternatives=["another slow mount holds the dirty pages of the host", "bursts larger than the dirty limit"],
        limits=limits,
        verify="grep -e Dirty: -e Writeback: /proc/meminfo stays well below the threshold",
    )


def _judgement(place: str, device: str, taken_ns: int, *, victim: bool) -> tuple[str, list[Remedy]]:
    """Return the claim, and what to do."""
    if not victim:
        claim = f"Writing to {place} is paused {duration(taken_ns)}: pages are dirtied faster than it takes them."
        less = f"write less to {place}, spread over time, or use a faster device; see the DISK findings for it"
        return claim, [fix(less)]
    found = [
        fix(
            f"find the writer: perfdiag latency --pid WRITER, after pidstat -d 1 or iotop names it; {place} is"
            " what it fills"
        )
    ]
    if device:  # a lower share pauses who writes to this device earlier: others, not the target
        bdi = shlex.quote(f"/sys/class/bdi/{device}/max_ratio")
        found.append(
            fix(
                f"keep one slow device from filling the whole host's dirty limit: note the value that cat {bdi}"
                f" shows, then lower it (echo 10 > {bdi}); that value written back undoes it"
            )
        )
    return f"The target is paused {duration(taken_ns)} for dirty pages that others wrote to {place}.", found


def _written(model: Model, device: str) -> tuple[int | None, int | None]:
    """Return the bytes the target dirtied and the bytes its device took, each None when not known."""
    processes = model.facts.processes.values()
    known = [process.written_bytes for process in processes if process.written_bytes is not None]
    disk = model.facts.disks.get(device)
    return sum(known) if known else None, disk.activity.written_bytes if disk and disk.activity else None


__all__ = ["dirty"]
