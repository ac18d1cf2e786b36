"""STORAGE-LOOP: a file system lies in a file of another file system (loop device)."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, Requests, backing, device_of
from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import (
    about,
    attempt,
    brief,
    claims_of,
    duration,
    fix,
    percent,
    plain,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.facts.host_facts import Disk, Mount
from perfdiag.model.model import Model, Row

ID = "STORAGE-LOOP"
OPERATIONS = ("read", "write", "flush")


@dataclass(frozen=True)
class Case:
    """Waits for a device inside a file."""

    where: Backing
    rows: tuple[Row, ...]
    loop: Disk
    requests: Requests  # of the loop device
    below: Mount | None  # the file system with the file
    disk: Backing | None  # the disk below that, if it has requests of its own
    disk_ns: int  # the typical request of that disk

    @property
    def extra_part(self) -> float:
        """Return the share of the waits in the second file system, zero if unknown."""
        wait_ns = typical_ns(together(self.rows))
        extra_ns = self.requests.typical_ns - self.disk_ns
        return min(1.0, max(0, extra_ns) / wait_ns) if self.disk_ns and wait_ns else 0.0


@rule(
    ID,
    title="A file system lies in a file of another file system",
    accounts=DISK,
    meaning=(
        "Threads wait for a loop device, or device-mapper on one: a file used as a disk. Each request passes two file"
        " systems, two journals and a kernel thread, and without direct I/O its data is cached twice. A fault for the"
        " extra time over the disk below; a profile if that is unknown."
    ),
    measured=(
        "Waits by device, through device-mapper and the loop device to the file, its mount and the disk below. The"
        " request times of the loop device and that disk are compared."
    ),
    alternatives="Other processes use the disk below, or large requests are split on the way.",
    remedies="Enable direct I/O for the loop device, or use a partition, logical volume or disk.",
    verify="The same work waits less on the device.",
    beats=("DISK-FLUSH-SLOW", "DISK-READ-SLOW", "DISK-WRITE-SLOW"),
    met=False,
)
def storage_loop(model: Model) -> Iterable[Outcome]:
    """Follow each device with waits down to a file; one finding per device."""
    found = False
    rows = groups_by_key((device_of(row), row) for row in model.rows_of(*DISK))
    for device, group in rows.items():
        case = _case(model, device, group) if device and worth(model, total_ns(group)) else None
        if case:
            found = True
            yield _finding(model, case)
    if not found:
        used = sum(disk.kind == "loop" and disk.label is not None for disk in model.facts.disks.values())
        yield Check(ID, f"no wait for a loop device is large enough ({used} loop devices in use)", float(used), "count")


def _case(model: Model, device: str, rows: list[Row]) -> Case | None:
    """Return the case of a device on a loop device with most of its waits, else None."""
    where = backing(model, device)
    loops = [model.facts.disks[name] for name in where.disks if name in model.facts.disks]
    loops = [disk for disk in loops if disk.kind == "loop"]
    if len(loops) != 1 or len(where.disks) != 1:
        return None
    requests = where.requests(model, *OPERATIONS)
    if requests.typical_ns < disk_policy.loop_device_share * typical_ns(together(rows)):
        return None
    below = _mount_of_file(model, loops[0].label or "")
    disk = backing(model, below.device) if below else None
    known = disk.requests(model, *OPERATIONS) if disk and device not in disk.paths else None
    return Case(where, tuple(rows), loops[0], requests, below, disk, known.typical_ns if known else 0)


def _mount_of_file(model: Model, path: str) -> Mount | None:
    """Return the mount of a file: the longest mount point above it, the last mounted there.

    A single file can be a mount point: bound from elsewhere, or served by a program (FUSE).
    """
    above = {path, *(str(parent) for parent in PurePosixPath(path).parents)}
    places = [mount for mount in model.facts.mounts if mount.mountpoint in above]
    return max(reversed(places), key=lambda mount: len(mount.mountpoint), default=None)


def _finding(model: Model, case: Case) -> Finding:
    file, ns = plain(case.loop.label or "an unknown file"), total_ns(case.rows)
    whole = claims_of(case.rows)
    claimed = {claim: part for claim, each_ns in whole.items() if (part := int(case.extra_part * each_ns)) > 0}
    claimed_ns = sum(claimed.values())
    place = f" on {plain(case.below.mountpoint)} ({plain(case.below.fstype)})" if case.below else ""
    return conclude(
        model,
        claimed,
        headline=f"{brief(case.where.name)} is a file, not a disk: requests pass a second file system",
        claim=(
            f"{case.where.name} is the file {file}{place}."
            + (f" The second file system takes {percent(case.extra_part)} of {duration(ns)}." if claimed_ns else "")
        ),
        mechanism=Mechanism.SLOW,
        departs=claimed_ns > 0,
        doubts=["" if case.disk_ns else "the time of the same requests without the file is unknown"],
        evidence=_evidence(model, case),
        remedies=_remedies(model, case),
        alternatives=["other processes use the disk below", "large requests are split on the way"],
        verify=less(model, f"waiting on {case.where.name}", ns),
    )


def _evidence(model: Model, case: Case) -> list[Evidence]:
    found = [waits(together(case.rows), f"waits for {case.where.name}")]
    texts = [(case.loop.name, case.requests)]
    if case.disk:
        texts.append((case.disk.name, case.disk.requests(model, *OPERATIONS)))
    for name, requests in texts:
        if requests.count:
            each_ns = requests.typical_ns
            text = f"{about(each_ns)} per request on {plain(name)} ({requests.count:,} requests)"
            found.append(Evidence(text, float(each_ns), "ns", "block_rq_complete"))
    direct = _direct(model, case)
    if direct is not None:
        text = (
            "the loop device uses direct I/O"
            if direct
            else "the loop device does not use direct I/O: data is cached twice"
        )
        found.append(Evidence(text, float(direct), "count", f"/sys/block/{plain(case.loop.name)}/loop/dio"))
    return found


def _direct(model: Model, case: Case) -> bool | None:
    path = f"/sys/block/{case.loop.name}/loop/dio"
    word = model.facts.texts.word_if_recorded(path)
    return word == "1" if word in ("0", "1") else None


def _remedies(model: Model, case: Case) -> list[Remedy]:
    found = [fix("put the file system on a partition, logical volume or disk of its own")]
    if _direct(model, case) is False and case.below and case.below.fstype != "tmpfs":
        device = shlex.quote(f"/dev/{plain(case.loop.name)}")
        on, off = f"losetup --direct-io=on {device}", f"losetup --direct-io=off {device}"
        found.insert(0, attempt(on, off, f"direct I/O of {device} off"))
    return found
