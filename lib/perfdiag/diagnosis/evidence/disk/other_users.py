"""How much of what a disk did was somebody else's: at least so much, or not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, backing
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, percent, size, together
from perfdiag.facts.texts import table
from perfdiag.model.model import Model, Row

# Others must have moved most of the bytes, and asked for most of the requests, before they are said to fill a disk.
MOSTLY = 0.5
# What a file system writes besides the data: its journal holds metadata twice, and data where it is asked to.
WRITTEN_TWICE = 2
# A wait for a flush stands for a commit of the journal; most take less than 16 blocks of 4 KiB.
COMMIT_BYTES = 65_536
# Arrays whose members together move what they were asked for; all others move copies, parity, or nobody knows.
UNMULTIPLIED = ("raid0", "linear")


@dataclass(frozen=True)
class Neighbours:
    """The part of a disk's work that cannot have been the target's."""

    part: float  # of the bytes, at least
    bytes: int  # that the disks moved, whoever asked

    @property
    def words(self) -> str:
        """Return the part as a clause has it: "at least 97 % of the 5.82 GiB it moved was for others"."""
        return f"at least {percent(self.part)} of the {size(self.bytes)} it moved was for others"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries the claim."""
        return Evidence(f"of others: {self.words}", self.part, "share", "diskstats, /proc/PID/io")

    @property
    def remedy(self) -> Remedy:
        """Return how to find them, as a recording knows no other processes."""
        return fix(
            "find who else uses the disk: pidstat -d 1 5, or iotop -obP, meanwhile; give that less (io.max"
            " of its cgroup), another time or another disk"
        )


LIMIT = "how fast the disk is without that work is not known"


def neighbours(model: Model, where: Backing, rows: Sequence[Row]) -> Neighbours | None:
    """Return who else fills the disks of a device that `rows` wait for; None if most may be the target's, or unknown.

    The target's own part is taken as large as it can be: what was dirty when the window began may all be its own, and
    what the host swapped.
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
    own_bytes += dirty_bytes + waits * COMMIT_BYTES + pages * model.page_bytes
    part = 1 - own_bytes / whole if whole else 0.0
    return Neighbours(part, whole) if part >= MOSTLY and waits + pages < (1 - MOSTLY) * requests else None


def _multiplied(model: Model, where: Backing) -> bool:
    """Whether an array above any of the disks may move more than it was asked for; of device-mapper nothing is said."""
    arrays = [disk for disk in model.facts.disks.values() if len(disk.members) > 1]
    others = [disk for disk in arrays if not (disk.name.startswith("md") and disk.label in UNMULTIPLIED)]
    return any(set(where.disks) & set(backing(model, disk.device).disks) for disk in others)


def _swapped_pages(model: Model) -> int | None:
    read, written = model.facts.vmstat_delta("pswpin"), model.facts.vmstat_delta("pswpout")
    return None if read is None or written is None else read + written


def _own_bytes(model: Model) -> int | None:
    """Return what the target read and wrote at most, None unless that is known of all its processes."""
    # Threads that ended leave their part to their process; processes that ended leave it to nobody that is known.
    pids = {thread.pid for thread in model.threads if thread.pid or thread.processes}
    known = {pid: process for pid, process in model.facts.processes.items() if pid in pids}
    if not pids or pids - known.keys():
        return None
    whole = 0
    for process in known.values():
        if process.read_bytes is None or process.written_bytes is None:
            return None
        whole += process.read_bytes + WRITTEN_TWICE * process.written_bytes
    return whole


def _dirty_bytes(model: Model) -> int | None:
    begin = table(model.facts.texts.text("/proc/meminfo", "begin"))
    return begin["Dirty"] + begin["Writeback"] if "Dirty" in begin and "Writeback" in begin else None


__all__ = ["LIMIT", "Neighbours", "neighbours"]
