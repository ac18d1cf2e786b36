"""Dirty pages: their writers by device, the writeback rate, and the device with most of the host's."""

from collections import defaultdict
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import NO_NAME
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import duration, percent, plain, size
from perfdiag.model.model import Model


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
    """Bytes dirtied on one device while its writers were paused."""

    own: tuple[Dirtier, ...]  # processes of the target, most first
    others: tuple[Dirtier, ...]  # likewise

    @property
    def own_bytes(self) -> int:
        """Return the bytes the target dirtied."""
        return sum(each.bytes for each in self.own)

    @property
    def culprit(self) -> Dirtier | None:
        """Return the target's process with most of its dirty bytes, if it has several."""
        first = self.own[0] if len(self.own) > 1 else None
        return first if first and 2 * first.bytes > self.own_bytes else None

    @property
    def bytes(self) -> int:
        """Return the bytes all processes dirtied."""
        return self.own_bytes + sum(each.bytes for each in self.others)

    @property
    def own_part(self) -> float:
        """Return the target's part."""
        return self.own_bytes / self.bytes

    @property
    def largest(self) -> Dirtier | None:
        """Return the largest writer outside the target."""
        return self.others[0] if self.others else None

    def evidence(self, name: str) -> Evidence:
        """Return it as evidence."""
        others = ", ".join(f"{each.name} {size(each.bytes)}" for each in self.others[:3])
        text = f"{size(self.own_bytes)} of {size(self.bytes)} dirtied on {name} by own threads"
        if len(self.own) > 1:
            text += f" ({', '.join(f'{each.name} {size(each.bytes)}' for each in self.own[:3])})"
        return Evidence(f"{text}{f'; {others}' if others else ''}", self.own_part, "share", "balance_dirty_pages")


def own_pids(model: Model) -> frozenset[int]:
    """Return the processes of the target; of ended ones only the targets are known."""
    return frozenset({thread.pid for thread in model.threads if thread.pid} | {t.pid for t in model.header.targets})


def dirtiers(model: Model, device: str) -> Dirtiers | None:
    """Return the writers of a device's dirty pages; None if not all were counted."""
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
    """Return the maximum of dirty bytes per device, over its cgroups."""
    return sums_by_key((line.device, line.dirty_bytes) for line in model.writebacks)


@dataclass(frozen=True)
class Elsewhere:
    """Another device with most of the host's dirty pages."""

    device: str
    name: str
    bytes: int
    writer: Dirtier | None  # its largest writer; None: not counted


def most_elsewhere(model: Model, device: str) -> Elsewhere | None:
    """Return another device than `device` with most dirty pages, else None."""
    sums = dirty_bytes(model)
    own = sums.pop(device, None)
    if own is None or not sums:
        return None
    other = max(sums, key=lambda each: (sums[each], each))
    if sums[other] <= memory_policy.dirty_elsewhere_factor * own:
        return None
    mount = model.facts.nfs_mount_of(other)  # any other device has a name of its own
    name = f"{mount.source} at {mount.mountpoint}" if mount else model.facts.disk_name(other)
    writers = dirtiers(model, other)
    most = max([*writers.own[:1], *writers.others[:1]], key=lambda each: each.bytes) if writers else None
    return Elsewhere(other, plain(name), sums[other], most)


def rate_evidence(model: Model, device: str, name: str) -> list[Evidence]:
    """Return the writeback rate of a device while its writers were paused."""
    lines = [
        line for line in model.writebacks if line.device == device and line.span_ns >= memory_policy.dirty_rate_span_ns
    ]
    if not lines:
        return []
    written, span_ns = sum(line.written_bytes for line in lines), max(line.span_ns for line in lines)
    rate = written * 1e9 / span_ns
    text = f"{size(rate)}/s written back to {name} ({size(written)} in {duration(span_ns)})"
    return [Evidence(text, rate, "bytes/s", "balance_dirty_pages")]


def connection_evidence(model: Model, device: str) -> list[Evidence]:
    """Return what limited the connections to an NFS server; nothing for a disk."""
    found = model.facts.nfs_connections_of(device)
    if not found or not found.busy_ns:
        return []
    part = found.receiver_ns / found.busy_ns
    many = "" if found.count == 1 else f" over {found.count} connections"
    text = (
        f"{size(found.acknowledged_bytes)} sent to its server{many} in {duration(found.busy_ns)};"
        f" {percent(part)} of that waited for its receive window ({size(found.window_bytes)})"
    )
    return [Evidence(text, part, "share", "tcp_info of sock_diag")]
