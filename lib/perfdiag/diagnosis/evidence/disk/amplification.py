"""Volumes above disks that move more than they were asked for: snapshots that copy before they write, parity."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import Backing
from perfdiag.diagnosis.evidence.disk.disk_use import checks_array, moved_bytes
from perfdiag.diagnosis.evidence.memory.page_dirtiers import own_pids
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, size
from perfdiag.model.model import Model


@dataclass(frozen=True)
class Amplification:
    """What the target, and kernel threads for it, asked a volume for, and what the disks below moved for that."""

    asked_bytes: int
    moved_bytes: int
    reads: bool  # the disks read, though the volume was asked to write

    @property
    def factor(self) -> float:
        """Return how many bytes one became."""
        return self.moved_bytes / self.asked_bytes

    @property
    def times(self) -> str:
        """Return it in words."""
        return f"{self.factor:.1f} times as many bytes"

    def sentence(self, volume: str) -> str:
        """Return it as a sentence about a volume."""
        return f"The disks below {volume} moved {self.times} as it was asked for ({size(self.asked_bytes)})."

    @property
    def evidence(self) -> Evidence:
        """Return the numbers."""
        text = f"{size(self.asked_bytes)} asked for, {size(self.moved_bytes)} moved by the disks below"
        return Evidence(text, self.factor, "factor", "block_bio_queue")

    @property
    def remedy(self) -> Remedy:
        """Return what such volumes are."""
        if self.reads:
            return fix(
                "look for a snapshot of this volume (lvs -o name,origin,snap_percent; dmsetup table), and remove it if"
                " nobody needs it: the first write to each block copies that; RAID 5 and 6 read more, too"
            )
        return fix("see what the volume does with each write: dmsetup table, lvs -o name,segtype,devices")


def amplification(model: Model, where: Backing) -> Amplification | None:
    """Return it for the volume of a wait; None where there is none, or others used the disks or the volume as well."""
    if where.device in where.disks or model.coverage.lost.get("disk_users_full"):
        return None
    own = own_pids(model)
    above = [line for line in model.disk_users if line.device == where.device]
    below = [line for line in model.disk_users if line.device in where.disks]
    others = any(line.pid not in own and not line.kernel_thread for line in above + below)
    if others or any(map(checks_array, below)):
        return None
    asked, moved = (sum(map(moved_bytes, lines)) for lines in (above, below))
    if not asked or moved < disk_policy.amplified_factor * len(where.disks) * asked:
        return None
    asked_to_read, read = (sum(line.read_bytes for line in lines) for lines in (above, below))
    return Amplification(asked, moved, read > asked_to_read)
