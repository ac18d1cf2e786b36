"""FS-FULL: a file system that the target writes to has no room left."""

from collections.abc import Iterable

from perfdiag.common.text import typed_path
from perfdiag.common.units import size
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import filesystem_policy, general_policy
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import brief, fix, percent, plain
from perfdiag.facts.file_systems import FileSystem, FileSystems
from perfdiag.model.model import Model

ID = "FS-FULL"


@rule(
    ID,
    title="A file system that the target writes to is full",
    accounts=(),
    meaning="A file system on which the target has files open for writing has no free space, or no free inodes. Writes"
    " fail there (ENOSPC); many programs then wait, sleep and try again, or write their errors to a log that is full"
    " as well. It claims no time: what the target waits for meanwhile has findings of its own.",
    measured="statfs() of the local file systems on which the target has files open for writing, when the window began"
    " and ended; for root with what is reserved (ext4 keeps 5 %). Network file systems are not asked: they might not"
    " answer.",
    alternatives="Files that were laid out once, and are written in place.",
    remedies="Free space or inodes, or make the file system larger. A deleted file that a process has open still takes"
    " its space.",
    verify="df -h and df -i show free space and inodes.",
)
def full(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each file system without room, else the one with least."""
    systems = model.facts.file_systems or FileSystems()
    known = systems.known
    found = [finding for each in known if (finding := _finding(model, each))]
    yield from found
    if found:
        return
    least = min(known, key=_room, default=None)
    if least is None:
        yield Silence(ID, f"no local file system is known that {subject(model)} writes to", "df -h; df -i")
    elif not systems.complete:
        yield Silence(ID, f"{subject(model)} has too many open files to look at all", "df -h; df -i")
    else:
        room, name = _room(least), plain(_name(least))
        yield Check(
            ID, f"{percent(room)} of {name} is free", 1 - room, "share", large=room < general_policy.fault_share
        )


def _room(each: FileSystem) -> float:
    """Return the part that is free, of the space or the inodes, whichever is less."""
    space = each.available_bytes / each.size_bytes if each.size_bytes else 1.0
    return min(space, each.free_inodes / each.inodes) if each.inodes else space


def _name(each: FileSystem) -> str:
    return each.mountpoint or each.device


def _largest(each: FileSystem, space: bool) -> str:
    """Return the commands that show what takes the room."""
    if not each.mountpoint:
        return f"grep ' {each.device} ' /proc/{each.pids[0]}/mountinfo shows where it is mounted"
    path = typed_path(each.mountpoint)
    listed = f"du -xh {path} | sort -h | tail" if space else f"du --inodes -x {path} | sort -n | tail"
    return f"{listed}; what is deleted and still open: lsof +L1 {path}"


def _finding(model: Model, each: FileSystem) -> Finding | None:
    least_bytes = max(filesystem_policy.full_bytes, filesystem_policy.full_share * each.size_bytes)
    # A very small one is not full while half of it is free.
    no_space = each.size_bytes > 0 and each.available_bytes < min(least_bytes, each.size_bytes / 2)
    no_inodes = each.inodes > 0 and not each.free_inodes
    if not no_space and not no_inodes:
        return None
    name = plain(_name(each))
    lacks = "space" if no_space else "inodes"
    left = f"{size(each.available_bytes)} of {size(each.size_bytes)} is free"
    if not no_space:
        left = f"none of {each.inodes:,} inodes is free"
    return conclude(
        model,
        {},
        headline=f"The file system {brief(name)}, on which {subject(model)} writes, has no {lacks} left",
        claim=(
            f"The file system {name} has no {lacks} left: {left}."
            f" {subject(model, begin=True)} has files open for writing there."
        ),
        mechanism=Mechanism.LIMIT,
        severity=Severity.WARNING,
        best=Confidence.MEDIUM,
        doubts=["no failed write was seen: what is written into space that files have already does not fail"],
        evidence=[Evidence(f"{left} on {name} ({each.device})", float(each.available_bytes), "bytes", "statfs")],
        remedies=[
            fix(f"delete what is not needed: {_largest(each, no_space)}"),
            fix("make the file system larger, or move what is written there"),
        ],
        verify=checked("df -h; df -i", f"{name} has space and inodes"),
    )
