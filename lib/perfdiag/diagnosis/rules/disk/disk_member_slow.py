"""DISK-MEMBER-SLOW: one disk of an array is slower than the others."""

import shlex
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing
from perfdiag.diagnosis.evidence.disk.device_load import Waited, hardly_waits, unmeasured, waited
from perfdiag.diagnosis.evidence.disk.health_checks import health_of
from perfdiag.diagnosis.evidence.disk.slow_members import Comparison, comparisons
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Claim, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import brief, duration, fix, plain, worth
from perfdiag.model.model import Model

CLAIMED = {"read": ("disk.read",), "write": ("disk.write", "disk.flush"), "flush": ("disk.flush",)}


@rule(
    "DISK-MEMBER-SLOW",
    title="One disk of an array is slower than its peers",
    accounts=DISK,
    meaning=(
        "The device is an array (md, device-mapper, LVM), and one of its disks takes at least twice as long per"
        " request as the others. A stripe and a mirror's write are as fast as the slowest member."
    ),
    measured=(
        "Mean time per request (queue and service) of each disk, by operation, from 30 requests on, against the"
        " median of the others. The extra time of the slow disk is claimed."
    ),
    alternatives=(
        "Other use of that disk alone, a rebuild, disks of different kinds (not compared), a slower cable or port."
    ),
    remedies="Check the disk's error counters and replace it, or use a new volume.",
    verify="iostat -x 1 shows the same await for all members.",
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
            f"it is unknown whether the disks are arrays: {model.facts.reason('disks') or 'no disk recorded'}",
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
            f"too few requests to compare the disks of {item.where.name}",
            f"record longer: {again(model, '--duration 60')}",
        )
    widest = max(each.ratio for each in compared)
    text = f"slowest member of {item.where.name} takes {widest:.1f} times as long as the others"
    return Check("DISK-MEMBER-SLOW", text, widest, "ratio")


def _finding(model: Model, item: Waited, found: Comparison, claims: dict[Claim, int]) -> Finding:
    few = "" if len(found.members) > 2 else "there is only one other disk to compare with"
    shown = plain(model.facts.disk_name(found.slowest))
    return conclude(
        model,
        claims,
        headline=f"Disk {brief(shown)} is slower than the other disks of {brief(item.where.name)}",
        claim=(
            f"{shown} takes {duration(found.slow_ns)} per {found.operation}, the other disks of {item.where.name}"
            f" {duration(found.peer_ns)}."
        ),
        mechanism=Mechanism.SLOW,
        doubts=[few],
        evidence=[
            Evidence(
                f"{duration(requests.mean_ns)} per {found.operation} on {plain(model.facts.disk_name(disk))}"
                f" ({requests.count:,} requests)",
                requests.mean_ns,
                "ns",
                "block_rq_complete",
            )
            for disk, requests in sorted(found.members.items(), key=lambda pair: -pair[1].mean_ns)[:4]
        ],
        remedies=[
            fix(
                f"check {health_of(model.facts.disks.get(found.slowest))}; if errors grow, replace it once no other"
                " member is missing (cat /proc/mdstat, lvs)"
            )
        ],
        alternatives=["other use of that disk alone", "a rebuild", "a slower cable or port"],
        verify=_check(model, found),
    )


def _claims(model: Model, item: Waited, found: Comparison) -> dict[Claim, int]:
    part = 1 - found.peer_ns / found.slow_ns
    if found.operation == "read" or _striped(model, item.where):  # only requests on the slow disk were slow
        slow_ns = found.members[found.slowest].count * found.slow_ns
        part *= slow_ns / sum(each.count * each.mean_ns for each in found.members.values())
    return {pair: ns for pair, ns in item.claims(max(0.0, part)).items() if pair[0] in CLAIMED[found.operation]}


def _striped(model: Model, where: Backing) -> bool:
    disk = model.facts.disks.get(where.device)
    return (disk.label or "") in ("raid0", "linear") if disk else False


def _check(model: Model, found: Comparison) -> str:
    names = [plain(disk.name) for device in found.members if (disk := model.facts.disks.get(device))]
    column = {"read": "r_await", "write": "w_await", "flush": "f_await"}.get(found.operation, "await")
    shown = plain(model.facts.disk_name(found.slowest))
    return checked(
        f"iostat -x 1 {shlex.join(names)}",
        f"{column} of {shown} near {duration(found.peer_ns)}, now {duration(found.slow_ns)}",
    )
