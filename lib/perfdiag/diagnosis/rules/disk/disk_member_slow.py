"""A rule on arrays that one slow disk holds back."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing
from perfdiag.diagnosis.evidence.disk.device_load import Waited, hardly_waits, unmeasured, waited
from perfdiag.diagnosis.evidence.disk.slow_members import Comparison, comparisons
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import brief, duration, fault, fix, judged, plain, worth
from perfdiag.model.model import Model

CLAIMED = {"read": ("disk.read",), "write": ("disk.write", "disk.flush"), "flush": ("disk.flush",)}


@rule(
    "DISK-MEMBER-SLOW",
    title="One disk of an array is slower than its peers",
    accounts=DISK,
    meaning="The device is an array (md, device-mapper, LVM), and one of its disks takes at least twice as long per"
    " request as the others. A stripe is as fast as its slowest member, a mirror's write too.",
    measured="Mean time per request (queue and service) of each disk below the device, by operation, 30 requests and"
    " more, over the whole window, whoever asked: each against the median of the others. What the slow disk takes"
    " longer is claimed of the target's waits on the array.",
    alternatives="Another use of that disk alone (a partition outside the array), a rebuild, disks of different kinds"
    " (not compared), a slower path or controller port.",
    remedies="Look at the disk's own error counters; replace it; for network volumes: a new volume.",
    verify="iostat -x 1 on the members: equal await for equal work.",
    beats=(
        "DISK-SATURATED",
        "DISK-QUEUEING",
        "DISK-FLUSH-SLOW",
        "DISK-READ-SLOW",
        "DISK-WRITE-SLOW",
        "DIR-HUGE",
        "STORAGE-LOOP",
    ),
)
def member_slow(model: Model) -> Iterable[Outcome]:
    """Join request times of the disks below an array with the target's waits on it."""
    devices = waited(model)
    arrays = [item for item in devices if len(item.where.disks) > 1]
    if not devices:
        yield hardly_waits(model, "DISK-MEMBER-SLOW", "arrays")
    elif not model.facts.disks:
        yield Silence(
            "DISK-MEMBER-SLOW",
            f"whether the disks are arrays is not known: {model.facts.reason('disks') or 'no disk recorded'}",
            "lsblk",
        )
    elif not arrays:
        yield Check("DISK-MEMBER-SLOW", f"no array under {devices[0].where.name}", 0.0, "count")
    elif not model.measured("block"):
        yield unmeasured("DISK-MEMBER-SLOW")
    else:
        for item in arrays:
            yield _compare(model, item)


def _compare(model: Model, item: Waited) -> Outcome:
    compared = list(comparisons(model, item.where))
    for each in compared:
        claims = _claims(model, item, each)
        if each.apart and worth(model, sum(claims.values())):
            return _finding(model, item, each, claims)
    if not compared:
        return Silence(
            "DISK-MEMBER-SLOW",
            f"too few requests on the disks of {item.where.name} to compare them",
            f"record longer: {again(model, '--duration 60')}",
        )
    widest = max(each.ratio for each in compared)
    text = f"slowest member of {item.where.name} takes {widest:.1f} times its peers' time"
    return Check("DISK-MEMBER-SLOW", text, widest, "ratio")


def _finding(model: Model, item: Waited, found: Comparison, claims: dict[str | tuple[str, str], int]) -> Finding:
    few = "" if len(found.members) > 2 else "only one other disk to compare with"
    confidence, limits = judged(model, Confidence.HIGH, [few])
    shown = plain(model.facts.disk_name(found.slowest))
    return Finding(
        "DISK-MEMBER-SLOW",
        fault(model, sum(claims.values())),
        confidence,
        f"{shown} holds {item.where.name} back: {duration(found.slow_ns)} a {found.operation}, its peers"
        f" {duration(found.peer_ns)}.",
        claims,
        [
            Evidence(
                f"{plain(model.facts.disk_name(disk))}: {requests.count:,} {found.operation} requests,"
                f" {duration(requests.mean_ns)} each",
                requests.mean_ns,
                "ns",
                "block_rq_complete",
            )
            for disk, requests in sorted(found.members.items(), key=lambda pair: -pair[1].mean_ns)[:4]
        ],
        [
            fix(
                f"look at the error counters of {shown} (smartctl -a) and at its path; if they grow, replace it, or the"
                " volume, once the array has no other disk missing (cat /proc/mdstat, lvs)"
            )
        ],
        alternatives=["other use of that disk alone", "a rebuild", "a slower path or port"],
        limits=limits,
        verify=f"{again(model)}; iostat -x 1: equal await of the members",
        headline=f"Disk {brief(shown)} is slower than its peers and holds {brief(item.where.name)} back",
        mechanism=Mechanism.SLOW,
    )


def _claims(model: Model, item: Waited, found: Comparison) -> dict[str | tuple[str, str], int]:
    part = 1 - found.peer_ns / found.slow_ns
    if found.operation == "read" or _striped(model, item.where):  # only requests that fell on the slow disk were slow
        slow_ns = found.members[found.slowest].count * found.slow_ns
        part *= slow_ns / sum(each.count * each.mean_ns for each in found.members.values())
    return {pair: ns for pair, ns in item.claims(max(0.0, part)).items() if pair[0] in CLAIMED[found.operation]}


def _striped(model: Model, where: Backing) -> bool:
    disk = model.facts.disks.get(where.device)
    return (disk.label or "") in ("raid0", "linear") if disk else False


__all__ = ["member_slow"]
