"""Whose dirty pages: who dirtied how much of a device, how fast it wrote, and who has most of the host's."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from perfdiag.common.text import NO_NAME
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import duration, percent, plain, size
from perfdiag.model.model import Model

# Shorter, and the few pages that each CPU keeps back from the device's counter would weigh.
RATE_SPAN_NS = 500_000_000
# Twice as many may be chance: the most of each was at a time of its own.  (Behind a server of 200 ms a burst to the
# victim's own disk, before anybody was held, reached a quarter of what the mount had: tests/incidents/dirty-nfs.)
ELSEWHERE_FACTOR = 2.5


@dataclass(frozen=True)
class Dirtier:
    """One process."""

    pid: int
    comm: str
    bytes: int

    @property
    def name(self) -> str:
        """Return it in words."""
        return f"{plain(self.comm) or NO_NAME} ({self.pid})"


@dataclass(frozen=True)
class Dirtiers:
    """What was dirtied of one device while its writers were held to the limit."""

    own: tuple[Dirtier, ...]  # processes of the target, most first
    others: tuple[Dirtier, ...]  # likewise

    @property
    def own_bytes(self) -> int:
        """Return what the target dirtied."""
        return sum(each.bytes for each in self.own)

    @property
    def culprit(self) -> Dirtier | None:
        """Return the process of the target that dirtied most of what that did, where it has several."""
        first = self.own[0] if len(self.own) > 1 else None
        return first if first and 2 * first.bytes > self.own_bytes else None

    @property
    def bytes(self) -> int:
        """Return what all dirtied."""
        return self.own_bytes + sum(each.bytes for each in self.others)

    @property
    def own_part(self) -> float:
        """Return the part of the target."""
        return self.own_bytes / self.bytes

    @property
    def largest(self) -> Dirtier | None:
        """Return who dirtied most of all others."""
        return self.others[0] if self.others else None

    def evidence(self, name: str) -> Evidence:
        """Return it as evidence."""
        others = ", ".join(f"{each.name} {size(each.bytes)}" for each in self.others[:3])
        text = f"of {size(self.bytes)} dirtied on {name} meanwhile its own threads wrote {size(self.own_bytes)}"
        if len(self.own) > 1:
            text += f" ({', '.join(f'{each.name} {size(each.bytes)}' for each in self.own[:3])})"
        return Evidence(f"{text}{f'; {others}' if others else ''}", self.own_part, "share", "balance_dirty_pages")


def own_pids(model: Model) -> frozenset[int]:
    """Return the processes of the target; those that ended are in folds, of which only targets are known."""
    return frozenset({thread.pid for thread in model.threads if thread.pid} | {t.pid for t in model.header.targets})


def dirtiers(model: Model, device: str) -> Dirtiers | None:
    """Return who dirtied pages of a device; None where nobody was counted, or not all of them."""
    own, names = own_pids(model), {}
    sums: defaultdict[int, int] = defaultdict(int)
    for line in model.dirtiers:
        if line.device == device:
            sums[line.pid] += line.bytes
            names[line.pid] = line.comm
    if not sum(sums.values()) or model.coverage.lost.get("dirtiers_full"):
        return None
    found = [Dirtier(pid, names[pid], number) for pid, number in sums.items() if number]
    found.sort(key=lambda each: (-each.bytes, each.pid))
    return Dirtiers(
        tuple(each for each in found if each.pid in own), tuple(each for each in found if each.pid not in own)
    )


def dirty_bytes(model: Model) -> dict[str, int]:
    """Return the most dirty pages each device had, over its cgroups, in bytes."""
    sums: defaultdict[str, int] = defaultdict(int)
    for line in model.writebacks:
        sums[line.device] += line.dirty_bytes
    return dict(sums)


@dataclass(frozen=True)
class Elsewhere:
    """Another device that has most of the host's dirty pages."""

    device: str
    name: str
    bytes: int
    writer: Dirtier | None  # who dirtied most of it; None: nobody was counted


def most_elsewhere(model: Model, device: str) -> Elsewhere | None:
    """Return the device other than `device` that fills the host's limit; None where that one does itself."""
    sums = dirty_bytes(model)
    own = sums.pop(device, None)
    if own is None or not sums:
        return None
    other = max(sums, key=lambda each: (sums[each], each))
    if sums[other] <= ELSEWHERE_FACTOR * own:
        return None
    mount = model.facts.nfs_mount_of(other)  # any other device has a name of its own
    name = f"{mount.source} at {mount.mountpoint}" if mount else model.facts.disk_name(other)
    writers = dirtiers(model, other)
    most = max([*writers.own[:1], *writers.others[:1]], key=lambda each: each.bytes) if writers else None
    return Elsewhere(other, plain(name), sums[other], most)


def rate_evidence(model: Model, device: str, name: str) -> list[Evidence]:
    """Return how fast a device wrote while writers to it were held to the limit."""
    lines = [line for line in model.writebacks if line.device == device and line.span_ns >= RATE_SPAN_NS]
    if not lines:
        return []
    written, span_ns = sum(line.written_bytes for line in lines), max(line.span_ns for line in lines)
    rate = written * 1e9 / span_ns
    text = f"{name} wrote {size(written)} in the {duration(span_ns)} that writers were held: {size(rate)} a second"
    return [Evidence(text, rate, "bytes/s", "balance_dirty_pages")]


def connection_evidence(model: Model, device: str) -> list[Evidence]:
    """Return what held the connections to the server of an NFS mount; nothing of a disk."""
    found = model.facts.nfs_connections_of(device)
    if not found or not found.busy_ns:
        return []
    part = found.receiver_ns / found.busy_ns
    which = "the connection" if found.count == 1 else f"the {found.count} connections"
    text = (
        f"{which} to its server took {size(found.acknowledged_bytes)} in {duration(found.busy_ns)} of sending, held"
        f" {percent(part)} of that by the server's receive window (now {size(found.window_bytes)})"
    )
    return [Evidence(text, part, "share", "tcp_info of sock_diag")]


__all__ = [
    "Dirtier",
    "Dirtiers",
    "Elsewhere",
    "connection_evidence",
    "dirtiers",
    "dirty_bytes",
    "most_elsewhere",
    "own_pids",
    "rate_evidence",
]
