"""The least part of a disk's work done for other processes, or unknown."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, backing
from perfdiag.diagnosis.evidence.disk.disk_use import WORKERS, DiskUse, User, disk_use
from perfdiag.diagnosis.evidence.disk.io_class import HeldBack, held_back
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Evidence, Other, Relation, Remedy
from perfdiag.diagnosis.significance import fix, percent, size, together
from perfdiag.facts.texts import table
from perfdiag.model.model import Model, Row

# Arrays without copies or parity; all others move more than requested.
UNMULTIPLIED = ("raid0", "linear")
NAMED = 2  # of the other processes


@dataclass(frozen=True)
class Neighbours:
    """The part of a disk's work not done for the target."""

    part: float  # of the bytes, at least
    bytes: int  # moved by the disks for all processes
    users: Sequence[User] = ()  # the largest of the others; none where they were not recorded
    held_back: HeldBack | None = None  # the target is, by its class of I/O

    @property
    def culprit(self) -> User | None:
        """Return who moved most of what others did, if that is one."""
        first = next(iter(self.users), None)
        return first if first and first.pids[0] and 2 * first.bytes > self.part * self.bytes else None

    @property
    def who(self) -> str:
        """Return the culprit by name, else "other processes"."""
        return self.culprit.brief if self.culprit else "other processes"

    def keeps_busy(self, what: str) -> str:
        """Return "dd (812) keeps the disk under vda busy", or why it goes first there."""
        several = self.culprit is None or len(self.culprit.pids) > 1 or self.culprit.comm == WORKERS
        if self.held_back:
            return self.held_back.headline(what, self.who, several=several)
        who = self.who[:1].upper() + self.who[1:] if self.culprit is None else self.who
        return f"{who} keep{'' if several else 's'} {what} busy"

    @property
    def sentence(self) -> str:
        """Return "Other processes moved at least 97 % of its 5.82 GiB: dd (812) 5.60 GiB."."""
        classes = f" {self.held_back.sentence}" if self.held_back else ""
        return f"Other processes moved at least {percent(self.part)} of its {size(self.bytes)}{self._names}.{classes}"

    @property
    def _names(self) -> str:
        names = ", ".join(f"{each.name} {size(each.bytes)}" for each in self.users[:NAMED])
        return f": {names}" if names else ""

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries the claim."""
        text = (
            f"at least {percent(self.part)} of the {size(self.bytes)} that the disk moved was for others{self._names}"
        )
        return Evidence(text, self.part, "share", "block_bio_queue" if self.users else "diskstats, /proc/PID/io")

    @property
    def others(self) -> list[Other]:
        """Return the largest of them with their pids."""
        return [Other(each.pids[0], each.comm, Relation.COMPETITOR) for each in self.users[:NAMED] if each.pids[0]]

    @property
    def remedy(self) -> Remedy:
        """Return what to do about them, or how to find them where they were not recorded."""
        if self.held_back:
            return self.held_back.remedy(self.who, self.culprit.pids[0] if self.culprit else 0)
        if self.culprit:
            return self.culprit.remedy
        return fix(
            "find the other process: pidstat -d 1 5, or iotop -obP; limit it (io.max of its cgroup), run it at another"
            " time, or move it to another disk"
        )


LIMIT = "the speed of the disk without that work is unknown"


def neighbours(model: Model, where: Backing, rows: Sequence[Row]) -> Neighbours | None:
    """Return the work of other processes on the disks `rows` wait for; None if most may be the target's, or unknown.

    The target's own part is the largest possible: with all data dirty at the start, and all swapped pages.  Where it
    was recorded who asked the disks, that bounds only what kernel threads asked for.
    """
    disks = [model.facts.disks[device] for device in where.disks if device in model.facts.disks]
    counters = [disk.activity for disk in disks if disk.activity]
    counted = sum(each.read_bytes + each.written_bytes for each in counters)
    use, multiplied = _complete(disk_use(model, where.disks), counted), _multiplied(model, where)
    if not counters or len(counters) != len(where.disks) or (multiplied and use is None):
        return None
    waits, pages = together(rows).count, _swapped_pages(model)
    most_bytes = _most_bytes(model, waits, pages)
    if use:
        factor = max(disk_policy.array_factor, len(where.disks)) if multiplied else 1
        bounds = [factor * each for each in (most_bytes, _asked_bytes(model, where)) if each is not None]
        whole, own_bytes = use.bytes, use.own_bytes + min([use.kernel_bytes, *bounds])
    elif most_bytes is not None:
        whole, own_bytes = counted, most_bytes
    else:
        return None
    requests = sum(each.reads + each.writes + (each.flushes or 0) for each in counters)
    part = 1 - own_bytes / whole if whole else 0.0
    least = disk_policy.other_users_share
    if part < least or waits + (pages or 0) >= (1 - least) * requests:
        return None
    users = _others(use, whole, own_bytes) if use else ()
    return Neighbours(part, whole, users, held_back(model, where.disks))


def _complete(use: DiskUse | None, counted: int) -> DiskUse | None:
    """Return who used some disks, None if the disks moved far more: RAID 0 and linear volumes, and multipath of NVMe,
    hand on the very bio that they were given, which is seen once."""
    return use if use and use.bytes >= disk_policy.seen_bytes_share * counted else None


def _others(use: DiskUse, whole: int, own_bytes: int) -> Sequence[User]:
    """Return the others that moved something worth a name; kernel threads only if they did so for others."""
    by_kernel = whole - own_bytes - use.others_bytes
    for_others = 2 * by_kernel > use.kernel_bytes
    found = [each for each in use.others if not each.kernel_thread or each.for_nobody or for_others]
    return [each for each in found if each.bytes >= disk_policy.named_user_share * whole]


def _asked_bytes(model: Model, where: Backing) -> int | None:
    """Return the largest number of bytes that the target, or kernel threads for it, asked the volume above the disks
    for; None: there is no such volume."""
    above = disk_use(model, (where.device,)) if where.device not in where.disks else None
    return above.own_bytes + above.kernel_bytes if above else None


def _most_bytes(model: Model, waits: int, pages: int | None) -> int | None:
    """Return the largest number of bytes that disks may have moved for the target; None: not known."""
    own_bytes, dirty_bytes = _own_bytes(model), _dirty_bytes(model)
    if own_bytes is None or dirty_bytes is None or pages is None:
        return None
    return own_bytes + dirty_bytes + waits * disk_policy.commit_bytes + pages * model.page_bytes


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
