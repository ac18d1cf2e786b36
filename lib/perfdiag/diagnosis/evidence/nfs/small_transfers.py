"""Mounts whose rsize or wsize cuts what is read and written into many small calls."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.units import size
from perfdiag.diagnosis.evidence.nfs.wait_parts import READING, Use
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix
from perfdiag.facts.texts import number

_KINDS = (("rsize", READING, "reads"), ("wsize", ("WRITE",), "writes"))


@dataclass(frozen=True)
class SmallTransfers:
    """Calls that carry as much as the mount lets them."""

    option: str  # "rsize=1024"
    nouns: str  # "reads"
    calls: int
    bytes: int  # of each
    mount: str
    probe: str

    @property
    def headline(self) -> str:
        """Return "NFS reads from nas1:/jobs go in pieces of 1.00 KiB: it is mounted with rsize=1024"."""
        return f"NFS {self.nouns} of {self.mount} go in pieces of {size(self.bytes)}: mounted with {self.option}"

    @property
    def evidence(self) -> Evidence:
        """Return how many calls there were."""
        text = f"{self.calls:,} {self.nouns} as large as {self.option} lets them be"
        return Evidence(text, float(self.calls), "count", self.probe)

    @property
    def remedy(self) -> Remedy:
        """Return how to mount instead."""
        return fix(
            "unmount, and mount again without rsize and wsize (fstab, automounter): client and server then agree on up"
            " to 1 MiB; if that is as small, the server limits it: /proc/fs/nfsd/max_block_size there"
        )


def small_transfers(use: Use, names: Iterable[str]) -> SmallTransfers | None:
    """Return the calls among those of some procedures that a small rsize or wsize makes many, most calls first."""
    wanted = set(names)
    found = []
    for option, procedures, nouns in _KINDS:
        limit, calls = number(use.options.get(option)), use.calls(*(name for name in procedures if name in wanted))
        if not limit or limit >= nfs_policy.small_transfer_bytes or calls.count < nfs_policy.calls_for_median:
            continue
        carried = (calls.received_bytes if nouns == "reads" else calls.sent_bytes) / calls.count
        if carried >= nfs_policy.full_transfer_share * limit:
            found.append(SmallTransfers(f"{option}={limit}", nouns, calls.count, limit, use.in_brief, use.probe))
    return max(found, key=lambda each: each.calls, default=None)


__all__ = ["SmallTransfers", "small_transfers"]
