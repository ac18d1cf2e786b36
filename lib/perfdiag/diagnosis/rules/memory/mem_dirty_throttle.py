"""MEM-DIRTY-THROTTLE: writers are paused because too many pages are dirty."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.memory.page_dirtiers import (
    Dirtiers,
    Elsewhere,
    connection_evidence,
    dirtiers,
    most_elsewhere,
    rate_evidence,
)
from perfdiag.diagnosis.evidence.target import setting, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    rule,
)
from perfdiag.diagnosis.significance import (
    brief,
    by_key,
    duration,
    fine,
    fix,
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

# A tenth of the host's limit for one slow device leaves enough for the others.
SMALL_RATIO = 10


@rule(
    "MEM-DIRTY-THROTTLE",
    title="Writers are paused because too many pages are dirty",
    accounts=(DIRTY,),
    meaning=(
        "The kernel pauses writers in write() while more pages are dirty than allowed, until writeback catches up."
        " Any slow device can fill the host's dirty limit, so other writers pay, too."
    ),
    measured=(
        "Pauses by device or mount, with the bytes each writer of the host dirtied (or /proc/PID/io against the"
        " device's writes), the device's writeback rate, the NFS connection, dirty pages, and the dirty thresholds."
    ),
    alternatives=(
        "The target writes faster than its device, another process does, or a slow mount holds the host's dirty pages."
    ),
    remedies=(
        "Slow down the writer of the dirty pages, limit the share of a slow mount, write less, or use a faster device."
    ),
    verify="memory.dirty_throttle is under 5 % of busy time.",
    needs=("dirty_throttle", "pauses of writers were not measured"),
)
def dirty(model: Model) -> Iterable[Outcome]:
    """Judge pauses of writers by device and by writer."""
    rows = model.rows_of(DIRTY)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "MEM-DIRTY-THROTTLE", "pauses of writers", DIRTY)
        return
    for claim, group in by_key(rows).items():
        if worth(model, total_ns(group)):
            yield _dirty_finding(model, claim, group)


@dataclass(frozen=True)
class _Case:
    """One device or mount the target writes to."""

    device: str  # "8:16", "" if unknown
    place: str  # its mount point, or its name
    writers: Dirtiers | None  # None: nobody was counted
    elsewhere: Elsewhere | None
    victim: bool


def _dirty_finding(model: Model, claim: tuple[str, str], group: list[Row]) -> Finding:
    taken_ns = total_ns(group)
    number = re.fullmatch(r"device:([0-9]+:[0-9]+)", claim[1])  # anything else is no part of a command
    device = number[1] if number else ""
    name = plain(group[0].object or "an unnamed device")
    evidence = [waits(together(group), "pauses"), *_limit_evidence(model)]
    writers = dirtiers(model, device) if device else None
    own, taken = _written(model, device)
    counted = writers is not None or (own is not None and bool(taken))
    if writers:
        evidence.append(writers.evidence(name))
    elif own is not None and taken:
        text = f"{size(own)} written by {subject(model)}, {size(taken)} written back to {name}"
        evidence.append(Evidence(text, own / taken, "share", "/proc/PID/io, /proc/diskstats"))
    evidence += [*rate_evidence(model, device, name), *connection_evidence(model, device)]
    part = writers.own_part if writers else own / taken if own is not None and taken else 1.0
    mount = model.facts.mount_of(device) if device else None
    case = _Case(
        device=device,
        place=plain(mount.mountpoint) if mount else name,
        writers=writers,
        elsewhere=most_elsewhere(model, device),
        victim=part < memory_policy.dirty_victim_share,
    )
    if case.elsewhere:
        text = f"{size(case.elsewhere.bytes)} dirty on {case.elsewhere.name} at most, far more than on {name}"
        evidence.append(Evidence(text, float(case.elsewhere.bytes), "bytes", "balance_dirty_pages"))
        evidence += connection_evidence(model, case.elsewhere.device)
    return conclude(
        model,
        {claim: taken_ns},
        headline=_headline(model, case),
        claim=_claim(model, case, taken_ns),
        mechanism=Mechanism.LIMIT,
        doubts=["" if counted else "the writers of the dirty pages are unknown"],
        evidence=evidence,
        remedies=_remedies(model, case),
        alternatives=[
            *([] if case.elsewhere else ["another slow mount holds the host's dirty pages"]),
            "bursts larger than the dirty limit",
        ],
        verify=time_under(model, claim[0]),
        others=_others(case),
    )


def _headline(model: Model, case: _Case) -> str:
    if case.victim and case.writers and (largest := case.writers.largest):
        return f"{subject(model, begin=True)} is paused: {largest.name} fills memory with dirty pages"
    if case.victim:
        return f"{subject(model, begin=True)} is paused: other processes write too fast to {brief(case.place)}"
    if case.elsewhere and (writer := case.elsewhere.writer):
        return f"{writer.name} fills memory with dirty pages of {brief(case.elsewhere.name)}; other writers are paused"
    if case.elsewhere:
        return f"Writers are paused: {brief(case.elsewhere.name)} holds most dirty pages of the host"
    if case.writers and (culprit := case.writers.culprit):
        return f"{culprit.name} writes faster than {brief(case.place)} writes back"
    return f"Writers are paused: {brief(case.place)} writes back too slowly"


def _others(case: _Case) -> list[Other]:
    """Return the writer of most dirty pages, as far as counted."""
    culprits = [case.writers.largest if case.victim else case.writers.culprit] if case.writers else []
    if not case.victim and case.elsewhere:
        culprits = [case.elsewhere.writer]
    return [Other(each.pid, plain(each.comm), Relation.WRITER) for each in culprits if each]


def _limit_evidence(model: Model) -> list[Evidence]:
    limits = model.facts.dirty_limits
    if not limits or limits.dirty_bytes is None or not limits.threshold_bytes:
        return []
    text = f"{size(limits.dirty_bytes)} dirty at the end; the kernel pauses writers at {size(limits.threshold_bytes)}"
    return [Evidence(text, float(limits.dirty_bytes), "bytes", "/proc/meminfo")]


def _claim(model: Model, case: _Case, taken_ns: int) -> str:
    if case.victim and case.writers and (largest := case.writers.largest):
        return (
            f"{subject(model, begin=True)} is paused {duration(taken_ns)} at {case.place}: {largest.name} wrote"
            f" {percent(largest.bytes / case.writers.bytes)} of its dirty pages."
        )
    if case.victim:
        who = subject(model, begin=True)
        return f"{who} is paused {duration(taken_ns)} at {case.place}: other processes wrote most of its dirty pages."
    if case.elsewhere:
        writer = f", written by {case.elsewhere.writer.name}" if case.elsewhere.writer else ""
        return (
            f"Writers to {case.place} are paused {duration(taken_ns)}, but most of the host's dirty pages belong to"
            f" {case.elsewhere.name}{writer}."
        )
    if case.writers and (culprit := case.writers.culprit):  # of many processes, one delays the others
        return (
            f"Writers to {case.place} are paused {duration(taken_ns)}: {culprit.name} wrote"
            f" {percent(culprit.bytes / case.writers.bytes)} of its dirty pages."
        )
    return f"Writers to {case.place} are paused {duration(taken_ns)}: they write faster than it writes back."


def _remedies(model: Model, case: _Case) -> list[Remedy]:
    """Return what to do about the writer, and about one device's part of the dirty limit."""
    if case.elsewhere:
        writer = case.elsewhere.writer
        first = f"slow down {writer.name} on" if writer else "find the writer to"
        return [
            *_smaller_part(model, case.elsewhere.device),
            fix(f"{first} {case.elsewhere.name}, and find why it is slow"),
        ]
    if not case.victim:
        less = f"write less to {case.place}, spread writes over time, or use a faster device"
        return [*_larger_part(model, case.device), fix(less)]
    largest = case.writers.largest if case.writers else None
    if largest:
        who = fix(f"slow down {largest.name} on {case.place} (io.max of its cgroup), or move its data")
    else:
        who = fix(f"find the writer to {case.place} (pidstat -d 1, iotop), then: perfdiag latency --pid WRITER")
    # A lower share pauses writers to this device earlier: other processes, not the target.
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
            f"limit this device's part of the dirty limit: note cat {path}, then echo {SMALL_RATIO} > {path}; undo:"
            " write the noted value back"
        )
    ]


def _larger_part(model: Model, device: str) -> list[Remedy]:
    """Return the trial of a larger part of the limit for the target's own device."""
    known = model.facts.writeback_limits.get(device)
    if not known or known.max_ratio is None or known.max_ratio >= 100 or not known.strict:
        return []
    return [setting(f"/sys/class/bdi/{device}/max_ratio", str(min(100, 2 * known.max_ratio)), str(known.max_ratio))]


def _written(model: Model, device: str) -> tuple[int | None, int | None]:
    """Return the bytes the target wrote and the bytes its device wrote back, each None if unknown."""
    processes = model.facts.processes.values()
    known = [process.written_bytes for process in processes if process.written_bytes is not None]
    disk = model.facts.disks.get(device)
    return sum(known) if known else None, disk.activity.written_bytes if disk and disk.activity else None
