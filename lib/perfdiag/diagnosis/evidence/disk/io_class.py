"""The class of I/O that ionice sets: some schedulers let requests of a lower class wait while there are others.

mq-deadline does since Linux 5.14 (prio_aging_expire), BFQ always has; none and kyber do not look at it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.disk.disk_use import moved_bytes
from perfdiag.diagnosis.evidence.memory.page_dirtiers import own_pids
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix
from perfdiag.model.model import Model
from perfdiag.recording import schema

HONOURED_BY = ("mq-deadline", "bfq")
REAL_TIME, BEST_EFFORT, IDLE = "real-time", "best-effort", "idle"
_RANK = {REAL_TIME: 0, BEST_EFFORT: 1, IDLE: 2}


@dataclass(frozen=True)
class HeldBack:
    """The target's requests come after those of others, by its class."""

    whose: str
    own: str
    others: str
    pid: int  # of the target; 0: it has ended

    def headline(self, what: str, who: str, *, several: bool) -> str:
        """Return "The target's I/O class is idle: at the disk under sda dd (812) goes first"."""
        return f"{self.whose}'s I/O class is {self.own}: at {what} {who} {'go' if several else 'goes'} first"

    @property
    def sentence(self) -> str:
        """Return both classes, and what the scheduler makes of them."""
        return f"{self.whose}'s I/O class is {self.own}, that of others {self.others}: the scheduler serves them first."

    def remedy(self, who: str, pid: int) -> Remedy:
        """Return which classes to set; `pid` is that of who goes first, 0 if it has no name."""
        if self.own != IDLE:
            return fix(f"give {who} the usual I/O class: ionice -c 2 -p {pid or 'PID'}")
        now = f"ionice -c 2 -p $(ls /proc/{self.pid}/task), and " if self.pid else ""
        return fix(
            f"give {self.whose[:1].lower()}{self.whose[1:]} the usual I/O class, unless it is meant to go last:"
            f" {now}ionice -c 2 where it is started (a cron job, IOSchedulingClass= of its unit, chrt -i)"
        )


def held_back(model: Model, disks: Sequence[str]) -> HeldBack | None:
    """Return it where most of what the target asked some disks for has a lower class than most of what others did."""
    known = [model.facts.disks.get(device) for device in disks]
    if model.host or not any(disk and disk.scheduler in HONOURED_BY for disk in known):
        return None
    own = own_pids(model)
    lines = [line for line in model.disk_users if line.device in disks and line.io_class in _RANK]
    mine, theirs = _mostly(lines, own, own=True), _mostly(lines, own, own=False)
    if not mine or not theirs or _RANK[mine] <= _RANK[theirs]:
        return None
    pid = next((line.pid for line in lines if line.pid in own and line.io_class == mine), 0)
    alive = any(thread.pid == pid and not thread.exited for thread in model.threads)
    return HeldBack(subject(model, begin=True), mine, theirs, pid if alive else 0)


def _mostly(lines: Sequence[schema.DiskUser], pids: frozenset[int], *, own: bool) -> str:
    """Return the class of most bytes that the target has asked for, or others have."""
    sums = sums_by_key((line.io_class or "", moved_bytes(line)) for line in lines if (line.pid in pids) is own)
    return max(sums, key=lambda name: (sums[name], name), default="")


__all__ = ["HeldBack", "held_back"]
