"""Who asked disks for how much: the target, other processes, and kernel threads, which work for somebody."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.text import NO_NAME
from perfdiag.diagnosis.evidence.memory.page_dirtiers import own_pids
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import brief, fix, plain
from perfdiag.model.model import Model
from perfdiag.recording import schema

WORKERS = "kworker/"
# How md names the thread that reads or writes whole members (md_register_thread() in md_start_sync()).
_ARRAY_CHECKS = ("_resync", "_reshape")
# Initializes the inode tables of new file systems, for nobody who waits: ext4_init_lazyinit_thread().
_INITIALIZER = "ext4lazyinit"


@dataclass(frozen=True)
class User:
    """Processes of one name, or kernel threads."""

    comm: str
    pids: Sequence[int]  # the one that moved most first
    bytes: int
    kernel_thread: bool
    writes: bool  # most of it

    @property
    def name(self) -> str:
        """Return the name with the pid, of several with the number of the others."""
        if self.comm == WORKERS:
            return "kernel workers (kworker)"
        more = f" and {len(self.pids) - 1} more" if len(self.pids) > 1 else ""
        return f"{plain(self.comm) or NO_NAME} ({self.pids[0]}{more})" if self.pids[0] else NO_NAME

    @property
    def for_nobody(self) -> bool:
        """Return whether it is a kernel thread whose work no process has asked for."""
        return self.kernel_thread and self.comm == _INITIALIZER and self.writes  # it reads the bitmaps of old ones

    @property
    def brief(self) -> str:
        """Return it for a headline."""
        return brief(self.name)

    @property
    def remedy(self) -> Remedy:
        """Return what to do about it."""
        if checks_array(self):
            return fix(
                f"slow {self.name} down, which checks or rebuilds an array: sysctl -w dev.raid.speed_limit_min=1000"
                " dev.raid.speed_limit_max=10000 (note the present values first); or run the check at night"
            )
        if self.for_nobody:
            return fix(
                f"wait until {self.name} has initialized the inode tables of a new ext4, once; pause it meanwhile"
                " (mount -o remount,noinit_itable MOUNT), or make the next one with -E lazy_itable_init=0"
            )
        if self.comm == WORKERS:
            return fix(
                "find who writes what kernel workers write back (pidstat -d 1 5: kB_wr/s), and let it write less, later"
                " or elsewhere; limits of a cgroup (io.max) count there, too"
            )
        if self.kernel_thread:
            return fix(f"find what kernel thread {self.name} works on: cat /proc/{self.pids[0]}/stack, several times")
        return fix(
            f"run {self.name} at another time, limit it (io.max of its cgroup), or move its data to another disk"
        )


@dataclass(frozen=True)
class DiskUse:
    """Bytes that were asked of some disks."""

    own_bytes: int  # by processes of the target
    others: Sequence[User]  # other processes and kernel threads, the largest first

    @property
    def kernel_bytes(self) -> int:
        """Return the bytes that kernel threads asked for on behalf of somebody."""
        return sum(each.bytes for each in self.others if each.kernel_thread and not each.for_nobody)

    @property
    def others_bytes(self) -> int:
        """Return the bytes that were asked for by processes other than the target's, or for nobody."""
        return sum(each.bytes for each in self.others) - self.kernel_bytes

    @property
    def bytes(self) -> int:
        """Return all of them."""
        return self.own_bytes + self.kernel_bytes + self.others_bytes


def checks_array(who: User | schema.DiskUser) -> bool:
    """Return whether a kernel thread reads or writes whole members of an array."""
    return who.kernel_thread and who.comm.endswith(_ARRAY_CHECKS)


def disk_use(model: Model, devices: Collection[str]) -> DiskUse | None:
    """Return who used some devices; None if not all who did were recorded, or if a process of the target has ended: its
    number is not known then, and it would count as somebody else."""
    lines = [line for line in model.disk_users if line.device in devices]
    ended = any(thread.processes for thread in model.threads if not thread.pid)
    if not lines or ended or model.coverage.lost.get("disk_users_full"):
        return None
    own = own_pids(model)
    groups = groups_by_key((_group(line), line) for line in lines if line.pid not in own or not line.pid)
    found = [_user(comm, of, kernel_thread=kernel) for (comm, kernel), of in groups.items()]
    found.sort(key=lambda each: (-each.bytes, each.comm))
    return DiskUse(sum(map(moved_bytes, (line for line in lines if line.pid in own))), found)


def _group(line: schema.DiskUser) -> tuple[str, bool]:
    """Return the name that processes are summed under: one for all kernel workers, as work changes between them.  What
    an interrupt asked for belongs to somebody as well."""
    kernel = line.kernel_thread or not line.pid
    return WORKERS if kernel and line.comm.startswith(WORKERS) else line.comm, kernel


def _user(comm: str, lines: Sequence[schema.DiskUser], *, kernel_thread: bool) -> User:
    sums = sums_by_key((line.pid, moved_bytes(line)) for line in lines)
    pids, whole = sorted(sums, key=lambda pid: (-sums[pid], pid)), sum(sums.values())
    return User(comm, pids, whole, kernel_thread, 2 * sum(line.written_bytes for line in lines) > whole)


def moved_bytes(line: schema.DiskUser) -> int:
    """Return how much that one has asked a disk for."""
    return line.read_bytes + line.written_bytes
