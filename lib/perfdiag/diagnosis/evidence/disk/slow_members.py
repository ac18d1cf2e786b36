"""The disk of an array with slower requests than the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, Requests, requests_of
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.model.model import Model, once

OPERATIONS = ("read", "write", "flush")


@dataclass(frozen=True)
class Comparison:
    """The slowest disk of an array against its peers, by one operation."""

    operation: str
    members: Mapping[str, Requests]  # by device
    slowest: str
    slow_ns: float
    peer_ns: float  # the median of the others

    @property
    def ratio(self) -> float:
        """How many times its peers' time the slowest takes."""
        return self.slow_ns / self.peer_ns if self.peer_ns else 0.0

    @property
    def apart(self) -> bool:
        """Whether the difference is no chance."""
        return (
            self.slow_ns >= disk_policy.slow_member_factor * self.peer_ns
            and self.slow_ns - self.peer_ns >= disk_policy.slow_member_ns
        )


def slow_member(model: Model, where: Backing, operation: str) -> str:
    """Return the disk below a device with a slower operation than the others, "" for none."""
    found = (each for each in comparisons(model, where) if each.operation == operation and each.apart)
    return next((each.slowest for each in found), "")


def comparisons(model: Model, where: Backing) -> Iterable[Comparison]:
    """Yield one comparison per operation with enough disks and requests."""
    comparable, disks = _comparable(model), model.facts.disks
    for operation in OPERATIONS:
        members = {disk: comparable[operation, disk] for disk in where.disks if (operation, disk) in comparable}
        kinds = {disks[disk].rotational for disk in members if disk in disks}
        if len(members) < 2 or len(kinds) > 1:
            continue
        slowest = max(members, key=lambda disk: members[disk].mean_ns)
        peers = [requests for disk, requests in members.items() if disk != slowest]
        if not _alike(members[slowest], peers) or not _share_evenly(operation, members[slowest], peers):
            continue
        peer_ns = median(requests.mean_ns for requests in peers)
        yield Comparison(operation, members, slowest, members[slowest].mean_ns, peer_ns)


def _alike(slowest: Requests, peers: Sequence[Requests]) -> bool:
    """Return whether the disks have the same part in a volume: those of a pool for data and for its own records, or for
    a log, have requests of quite another size, and each takes its time."""
    size, usual = slowest.bytes / slowest.count, median(each.bytes / each.count for each in peers)
    return max(size, usual) <= disk_policy.alike_size_factor * min(size, usual) or not size or not usual


def _share_evenly(operation: str, slowest: Requests, peers: Sequence[Requests]) -> bool:
    """Return whether about as many bytes are written to each disk, as with stripes and mirrors: below a cache, pool or
    a snapshot each disk has what the others have not.  Mirrors give reads to whichever disk is free."""
    usual = median(each.bytes for each in peers)
    return operation != "write" or max(slowest.bytes, usual) <= disk_policy.even_bytes_factor * min(
        slowest.bytes, usual
    )


@once
def _comparable(model: Model) -> dict[tuple[str, str], Requests]:
    """Return the requests by operation and disk, where there are enough of them: many arrays may share their disks."""
    lines = groups_by_key(((line.operation, line.device), line) for line in model.devices)
    requests = {pair: requests_of(of_pair) for pair, of_pair in lines.items()}
    return {pair: each for pair, each in requests.items() if each.count >= disk_policy.slow_member_requests}
