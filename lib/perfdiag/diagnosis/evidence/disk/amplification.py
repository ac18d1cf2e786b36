"""Volumes above disks that move more than they were asked for: snapshots that copy before they write, parity."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import Backing
from perfdiag.diagnosis.evidence.disk.disk_use import ARRAY_CHECKS
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
    own, lines = own_pids(model), model.disk_users
    of_target = [line for line in lines if line.pid in own or line.kernel_thread]
    above = [line for line in lines if line.device == where.device]
    below = [line for line in lines if line.device in where.disks]
    checked = any(line.kernel_thread and line.comm.endswith(ARRAY_CHECKS) for line in below)
    if checked or any(line not in of_target for line in above + below):
        return None
    asked = sum(line.read_bytes + line.written_bytes for line in above)
    read, written = sum(line.read_bytes for line in below), sum(line.written_bytes for line in below)
    if not asked or read + written < disk_policy.amplified_factor * len(where.disks) * asked:
        return None
    return Amplification(asked, read + written, read > sum(line.read_bytes for line in above))
