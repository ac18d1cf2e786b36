"""The least part of a disk's work done for other processes, or unknown."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, backing
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, percent, size, together
from perfdiag.facts.texts import table
from perfdiag.model.model import Model, Row

# Arrays without copies or parity; all others move more than requested.
UNMULTIPLIED = ("raid0", "linear")


@dataclass(frozen=True)
class Neighbours:
    """The part of a disk's work not done for the target."""

    part: float  # of the bytes, at least
    bytes: int  # moved by the disks for all processes

    @property
    def sentence(self) -> str:
        """Return "Other processes moved at least 97 % of its 5.82 GiB."."""
        return f"Other processes moved at least {percent(self.part)} of its {size(self.bytes)}."

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries the claim."""
        text = f"{percent(self.part)} or more of {size(self.bytes)} moved for other processes"
        return Evidence(text, self.part, "share", "diskstats, /proc/PID/io")

    @property
    def remedy(self) -> Remedy:
        """Return how to find them: the recording does not know other processes."""
        return fix(
            "find the other process: pidstat -d 1 5, or iotop -obP; limit it (io.max of its cgroup), run it at another"
            " time, or move it to another disk"
        )


LIMIT = "the speed of the disk without that work is unknown"


def neighbours(model: Model, where: Backing, rows: Sequence[Row]) -> Neighbours | None:
    """Return the work of other processes on the disks `rows` wait for; None if most may be the target's, or unknown.

    The target's own part is the largest possible: with all data dirty at the start, and all swapped pages.
    """
    if _multiplied(model, where):
        return None
    disks = [model.facts.disks[device] for device in where.disks if device in model.facts.disks]
    counters = [disk.activity for disk in disks if disk.activity]
    own_bytes, dirty_bytes, pages = _own_bytes(model), _dirty_bytes(model), _swapped_pages(model)
    if not counters or len(counters) != len(where.disks) or own_bytes is None or dirty_bytes is None or pages is None:
        return None
    waits = together(rows).count
    whole = sum(each.read_bytes + each.written_bytes for each in counters)
    requests = sum(each.reads + each.writes + (each.flushes or 0) for each in counters)
    own_bytes += dirty_bytes + waits * disk_policy.commit_bytes + pages * model.page_bytes
    part = 1 - own_bytes / whole if whole else 0.0
    return (
        Neighbours(part, whole)
        if part >= disk_policy.other_users_share and waits + pages < (1 - disk_policy.other_users_share) * requests
        else None
    )


def _multiplied(model: Model, where: Backing) -> bool:
    """Whether an array above the disks may move more than requested; device-mapper may always."""
    arrays = [disk for disk in model.facts.disks.values() if len(disk.members) > 1]
    others = [disk for disk in arrays if not (disk.name.startswith("md") and disk.label in UNMULTIPLIED)]
    return any(set(where.disks) & set(backing(model, disk.device).disks) for disk in others)


def _swapped_pages(model: Model) -> int | None:
    read, written = model.facts.vmstat_delta("pswpin"), model.facts.vmstat_delta("pswpout")
    return None if read is None or written is None else read + written


def _own_bytes(model: Model) -> int | None:
    """Return what the target read and wrote at most, None unless known for all its processes."""
    # Ended threads add to their process; the part of ended processes is lost.
    pids = {thread.pid for thread in model.threads if thread.pid or thread.processes}
    known = {pid: process for pid, process in model.facts.processes.items() if pid in pids}
    if not pids or pids - known.keys():
        return None
    whole = 0
    for process in known.values():
        if process.read_bytes is None or process.written_bytes is None:
            return None
        whole += process.read_bytes + disk_policy.written_twice_factor * process.written_bytes
    return whole


def _dirty_bytes(model: Model) -> int | None:
    begin = table(model.facts.texts.text("/proc/meminfo", "begin"))
    return begin["Dirty"] + begin["Writeback"] if "Dirty" in begin and "Writeback" in begin else None
