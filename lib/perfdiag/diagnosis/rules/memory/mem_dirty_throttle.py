"""A rule on writers that are paused because too many pages wait to be written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.memory.page_dirtiers import (
    Dirtiers,
    Elsewhere,
    connection_evidence,
    dirtiers,
    most_elsewhere,
    rate_evidence,
)
from perfdiag.diagnosis.evidence.target import again, setting, subject
from perfdiag.diagnosis.rule import (
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    brief,
    by_key,
    duration,
    fault,
    fine,
    fix,
    judged,
    percent,
    plain,
    size,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row

DIRTY = "memory.dirty_throttle"

# A target that dirtied less than a fifth of what waits to be written is paused for the writes of others.
VICTIM_PART = 0.2
# A tenth of the host's limit for one slow device leaves the others what they need.
SMALL_RATIO = 10


@rule(
    "MEM-DIRTY-THROTTLE",
    title="Writers are paused because too many pages wait to be written",
    accounts=(DIRTY,),
    meaning="The kernel pauses writers in write() when more pages are dirty than it allows, until the device or server"
    " has caught up. Victims pay for others: any slow device can fill the host's dirty limit.",
    measured="Joins pauses by the device or mount the thread wrote to with who dirtied how much of it: every writer of"
    " the host that was held to the limit in the window counts what it dirtied since the time before (where nobody was"
    " counted, what the target wrote against what the device took). Beside it what the device wrote meanwhile (of an"
    " NFS mount also what held the connection to its server), dirty pages and thresholds, and the settings of the"
    " device's own part of the limit.",
    alternatives="The target writes faster than its device can; a neighbour does; a slow mount holds the dirty pages of"
    " the whole host.",
    remedies="Quieten who dirties the pages; limit the share of a slow mount; write less or to a faster device.",
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


@dataclass(frozen=True)
class _Case:
    """One device or mount that the target writes to."""

    device: str  # "8:16", "" where it is not known
    place: str  # its mount point, or its name
    name: str
    writers: Dirtiers | None  # None: nobody was counted
    elsewhere: Elsewhere | None
    victim: bool


def _dirty_finding(model: Model, claim: tuple[str, str], group: list[Row]) -> Finding:
    taken_ns = total_ns(group)
    number = re.fullmatch(r"device:([0-9]+:[0-9]+)", claim[1])  # anything else is no part of a command
    device = number[1] if number else ""
    name = plain(group[0].object or "an unnamed device")
    evidence = [waits(together(group), f"pauses writing to {name}"), *_limit_evidence(model)]
    writers = dirtiers(model, device) if device else None
    own, taken = _written(model, device)
    counted = writers is not None or (own is not None and bool(taken))
    if writers:
        evidence.append(writers.evidence(name))
    elif own is not None and taken:
        text = f"{subject(model)} wrote {size(own)}, {name} took {size(taken)}"
        evidence.append(Evidence(text, own / taken, "share", "/proc/PID/io, /proc/diskstats"))
    evidence += [*rate_evidence(model, device, name), *connection_evidence(model, device)]
    part = writers.own_part if writers else own / taken if own is not None and taken else 1.0
    mount = model.facts.mount_of(device) if device else None
    case = _Case(
        device=device,
        place=plain(mount.mountpoint) if mount else name,
        name=name,
        writers=writers,
        elsewhere=most_elsewhere(model, device),
        victim=part < VICTIM_PART,
    )
    if case.elsewhere:
        text = f"{case.elsewhere.name} had {size(case.elsewhere.bytes)} dirty at the most, far more than {name}"
        evidence.append(Evidence(text, float(case.elsewhere.bytes), "bytes", "balance_dirty_pages"))
        evidence += connection_evidence(model, case.elsewhere.device)
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        ["" if counted else f"not known whether {subject(model)} or others wrote most of the dirty pages"],
    )
    return Finding(
        "MEM-DIRTY-THROTTLE",
        fault(model, taken_ns),
        confidence,
        _claim(model, case, taken_ns),
        {claim: taken_ns},
        evidence,
        _remedies(model, case),
        alternatives=[
            *([] if case.elsewhere else ["another slow mount holds the dirty pages of the host"]),
            "bursts larger than the dirty limit",
        ],
        limits=limits,
        verify=f"{again(model)}: memory.dirty_throttle; grep -e Dirty: -e Writeback: /proc/meminfo stays well below"
        " the threshold",
        headline=_headline(model, case),
        mechanism=Mechanism.LIMIT,
        others=_others(case),
    )


def _headline(model: Model, case: _Case) -> str:
    if case.victim and case.writers and (largest := case.writers.largest):
        return f"{subject(model, begin=True)} is paused while {largest.name} fills memory with dirty pages"
    if case.victim:
        return f"{subject(model, begin=True)} is paused for dirty pages that others wrote to {brief(case.place)}"
    if case.elsewhere:
        return f"Writers are paused for dirty pages of another device, {brief(case.elsewhere.name)}"
    if case.writers and (culprit := case.writers.culprit):
        return f"{culprit.name} dirties pages faster than {brief(case.place)} takes them"
    return f"Writers are paused: {brief(case.place)} takes dirty pages too slowly"


def _others(case: _Case) -> list[Other]:
    """Return who wrote most of what is dirty, as far as it was counted."""
    culprits = [case.writers.largest if case.victim else case.writers.culprit] if case.writers else []
    if not case.victim and case.elsewhere:
        culprits = [case.elsewhere.writer]
    return [Other(each.pid, plain(each.comm), Relation.WRITER) for each in culprits if each]


def _limit_evidence(model: Model) -> list[Evidence]:
    limits = model.facts.dirty_limits
    if not limits or limits.dirty_bytes is None or not limits.threshold_bytes:
        return []
    text = f"{size(limits.dirty_bytes)} dirty at the end, writers are stopped at {size(limits.threshold_bytes)}"
    return [Evidence(text, float(limits.dirty_bytes), "bytes", "/proc/meminfo")]


def _claim(model: Model, case: _Case, taken_ns: int) -> str:
    if case.victim and case.writers and (largest := case.writers.largest):
        return (
            f"{subject(model, begin=True)} is paused {duration(taken_ns)} for dirty pages of {case.place} that others"
            f" wrote, {percent(largest.bytes / case.writers.bytes)} of them {largest.name}."
        )
    if case.victim:
        who = subject(model, begin=True)
        return f"{who} is paused {duration(taken_ns)} for dirty pages that others wrote to {case.place}."
    if case.elsewhere:
        writer = f", written by {case.elsewhere.writer.name}" if case.elsewhere.writer else ""
        return (
            f"Writing to {case.place} is paused {duration(taken_ns)}, but most of the host's dirty pages are of"
            f" {case.elsewhere.name}{writer}."
        )
    if case.writers and (culprit := case.writers.culprit):  # many processes: some of them suffer for one
        return (
            f"Writing to {case.place} is paused {duration(taken_ns)}: {culprit.name} dirties pages faster than it takes"
            f" them, {percent(culprit.bytes / case.writers.bytes)} of all."
        )
    return f"Writing to {case.place} is paused {duration(taken_ns)}: pages are dirtied faster than it takes them."


def _remedies(model: Model, case: _Case) -> list[Remedy]:
    """Return what to do: about who dirties the pages, and about how many of them one device may hold."""
    if case.elsewhere:
        writer = case.elsewhere.writer
        first = f"slow down {writer.name}, which dirtied most of" if writer else "find who writes to"
        return [
            *_smaller_part(model, case.elsewhere.device),
            fix(f"{first} {case.elsewhere.name}, and see why that is slow: what waits there fills all's limit"),
        ]
    if not case.victim:
        less = f"write less to {case.place}, spread over time, or use a faster device; see the DISK findings for it"
        return [*_larger_part(model, case.device), fix(less)]
    largest = case.writers.largest if case.writers else None
    if largest:
        who = fix(f"slow down {largest.name}, or let it write elsewhere: io.max of its cgroup; {case.place} is what it"
                  " fills")  # fmt: skip
    else:
        who = fix(
            f"find the writer: perfdiag latency --pid WRITER, after pidstat -d 1 or iotop names it; {case.place} is"
            " what it fills"
        )
    # A lower share pauses who writes to this device earlier: others, not the target.
    return [who, *_smaller_part(model, case.device)]


def _smaller_part(model: Model, device: str) -> list[Remedy]:
    known = model.facts.writeback_limits.get(device)
    path = f"/sys/class/bdi/{device}/max_ratio"
    if known and known.max_ratio is not None and known.max_ratio > SMALL_RATIO:
        return [setting(path, str(SMALL_RATIO), str(known.max_ratio))]
    if known or not device:
        return []
    return [
        fix(
            f"keep one slow device from filling the whole host's dirty limit: note the value that cat {path} shows,"
            f" then lower it (echo {SMALL_RATIO} > {path}); that value written back undoes it"
        )
    ]


def _larger_part(model: Model, device: str) -> list[Remedy]:
    """The target itself fills the small part of the limit that its device may have, while there is more."""
    known = model.facts.writeback_limits.get(device)
    if not known or known.max_ratio is None or known.max_ratio >= 100 or not known.strict:
        return []
    return [setting(f"/sys/class/bdi/{device}/max_ratio", str(min(100, 2 * known.max_ratio)), str(known.max_ratio))]


def _written(model: Model, device: str) -> tuple[int | None, int | None]:
    """Return the bytes the target dirtied and the bytes its device took, each None when not known."""
    processes = model.facts.processes.values()
    known = [process.written_bytes for process in processes if process.written_bytes is not None]
    disk = model.facts.disks.get(device)
    return sum(known) if known else None, disk.activity.written_bytes if disk and disk.activity else None


__all__ = ["dirty"]
