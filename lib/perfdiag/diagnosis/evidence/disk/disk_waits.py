"""What the rules on waits for disks share: the three kinds of wait, and what a wait on a device should take."""

from __future__ import annotations

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, Requests, backing, device_of
from perfdiag.diagnosis.evidence.target import idle_share, subject
from perfdiag.diagnosis.rule import Severity
from perfdiag.diagnosis.significance import duration, fault, percent, together, typical_ns
from perfdiag.model.model import Model, Row
from perfdiag.recording.distribution import Distribution

# Under a millisecond the path through file system and scheduler is part of any wait.
ABOVE_DEVICE_NS = 1_000_000
# A read needs at most its mapping block and then its data; a write the same.
CHAIN = 2
# A host whose CPUs idle for less has more work than CPUs, and its kernel's threads stand in the same queues.
NEVER_IDLE = 0.05
# A flush may find a journal commit under way and then need its own: two, each of at most three dependent writes (data,
# journal blocks, commit record) and two cache flushes.
COMMITS, COMMIT_WRITES, COMMIT_FLUSHES = 2, 3, 2


@dataclass(frozen=True)
class Kind:
    """What sets the three rules apart."""

    id: str
    account: str
    nouns: str  # "flushes"; one call to flush may be several waits
    operations: tuple[str, ...]
    fewer: str  # the remedy that always works
    above: str  # what may hold a wait above the device


FLUSH = Kind(
    "DISK-FLUSH-SLOW",
    "disk.flush",
    "flushes",
    ("write", "flush"),
    "fewer flushes: put several changes into one transaction or commit, call fsync once for many files",
    "other writers whose data the journal commits too, a device-mapper layer, an I/O limit",
)
READ = Kind(
    "DISK-READ-SLOW",
    "disk.read",
    "reads",
    ("read",),
    "fewer reads: a larger cache (of the database or the page cache), an index, larger sequential reads",
    "an I/O limit, a device-mapper layer, read-ahead of others in front of it",
)
WRITE = Kind(
    "DISK-WRITE-SLOW",
    "disk.write",
    "writes",
    ("write",),
    "fewer or larger writes; let the page cache collect them (no O_SYNC, no O_DIRECT) where the data may wait",
    "an I/O limit, a device-mapper layer, the file system waiting for its journal",
)
KINDS = {kind.account: kind for kind in (FLUSH, READ, WRITE)}


@dataclass(frozen=True)
class Case:
    """One device and what its waits look like."""

    where: Backing
    rows: list[Row]
    wait: Distribution
    wait_ns: int  # typical
    chain: Requests
    explained_ns: int  # the longest chain of requests a wait can stand for
    in_requests_ns: int  # what all waits together can have spent waiting for requests, at most

    @property
    def lost_ns(self) -> int:
        """The part of all the waiting that the device does not explain; all of it where no request was seen."""
        ns = self.wait.sum_ns
        if not self.chain.count:
            return ns
        longer = 1 - self.explained_ns / self.wait_ns if self.wait_ns else 0.0
        return max(0, round(ns * longer), ns - self.in_requests_ns)

    @property
    def above(self) -> bool:
        """Whether the waits are longer than their device explains."""
        if not self.chain.count or self.wait_ns < ABOVE_DEVICE_NS:
            return False
        mostly = self.lost_ns >= self.wait.sum_ns / 2 and self.lost_ns >= ABOVE_DEVICE_NS * self.wait.count
        return self.wait_ns > self.explained_ns or mostly


def case_of(model: Model, kind: Kind, rows: list[Row]) -> Case:
    """Join the waits of one account on one device with its requests."""
    where = backing(model, device_of(rows[0]))
    wait = together(rows)
    chain = where.requests(model, *kind.operations)
    explained = CHAIN * chain.typical_ns
    if kind is FLUSH:
        writes, flushes = where.requests(model, "write"), where.requests(model, "flush")
        explained = COMMITS * (COMMIT_WRITES * writes.typical_ns + COMMIT_FLUSHES * flushes.typical_ns)
    # Who waits for requests does so while one is queued or served: for no longer than all of them took together.
    waiters = sum(thread.threads for thread in model.threads if kind.account in thread.accounts)
    in_requests = max(1, waiters) * (chain.queue.sum_ns + chain.service.sum_ns)
    return Case(where, rows, wait, typical_ns(wait), chain, explained, in_requests)


def without_cpus(model: Model) -> str:
    """Return what shows that the kernel's own threads, which see to a wait above its device, had to wait for CPUs
    like those of the target; "" where nothing does."""
    idle, queued_ns = idle_share(model), model.ns("runq.busy")
    if idle is None or idle > NEVER_IDLE or fault(model, queued_ns) is Severity.INFO:
        return ""
    waited = f"threads of {subject(model)} waited {duration(queued_ns)} for one"
    return f"CPUs were idle {percent(idle)} of the time, and {waited}"


__all__ = ["CHAIN", "FLUSH", "KINDS", "READ", "WRITE", "Case", "Kind", "case_of", "without_cpus"]
