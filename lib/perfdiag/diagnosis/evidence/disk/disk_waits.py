"""The three kinds of disk wait, and how long a wait on a device may take."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, Requests, backing, device_of
from perfdiag.diagnosis.evidence.disk.sync_calls import slowest_disk_of_sync
from perfdiag.diagnosis.evidence.target import idle_share, subject
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Severity
from perfdiag.diagnosis.significance import duration, fault, percent, together, typical_ns
from perfdiag.model.model import Model, Row
from perfdiag.recording.distribution import Distribution

# A flush may need two journal commits, each of at most three dependent writes (data, journal blocks, commit record) and
# two cache flushes.
COMMITS, COMMIT_WRITES, COMMIT_FLUSHES = 2, 3, 2


@dataclass(frozen=True)
class Kind:
    """What differs between the three rules."""

    id: str
    account: str
    nouns: str
    counted: str  # what the waits are called where their number stands: one call to flush may be several
    operations: tuple[str, ...]
    fewer: str  # a remedy for any case
    above: str  # possible delays above the device


FLUSH = Kind(
    "DISK-FLUSH-SLOW",
    "disk.flush",
    "flushes",
    "waits for flushes",
    ("write", "flush"),
    "flush less often: put several changes into one transaction, call fsync once for many files",
    "other writers in the same journal, a device-mapper layer, an I/O limit",
)
READ = Kind(
    "DISK-READ-SLOW",
    "disk.read",
    "reads",
    "reads",
    ("read",),
    "read less, or more at a time (larger pieces); a larger cache helps only if the same is read again",
    "an I/O limit, a device-mapper layer, read-ahead of other processes",
)
WRITE = Kind(
    "DISK-WRITE-SLOW",
    "disk.write",
    "writes",
    "writes",
    ("write",),
    "write less often, in larger pieces; let the page cache collect them (no O_SYNC, O_DIRECT) if the data may wait",
    "an I/O limit, a device-mapper layer, a full journal",
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
    explained_ns: int  # the longest chain of requests in one wait
    in_requests_ns: int  # what all waits together can have spent waiting for requests, at most
    sync: bool = False  # for all disks of the host; `where` is the slowest

    @property
    def lost_ns(self) -> int:
        """The waiting beyond the device's requests; all of it if no request was seen."""
        ns = self.wait.sum_ns
        if not self.chain.count:
            return ns
        longer = 1 - self.explained_ns / self.wait_ns if self.wait_ns else 0.0
        return max(0, round(ns * longer), ns - self.in_requests_ns)

    @property
    def above(self) -> bool:
        """Whether the waits are longer than the device's requests explain."""
        if not self.chain.count or self.wait_ns < disk_policy.above_device_ns:
            return False
        mostly = self.lost_ns >= self.wait.sum_ns / 2 and self.lost_ns >= disk_policy.above_device_ns * self.wait.count
        return self.wait_ns > self.explained_ns or mostly


def case_of(model: Model, kind: Kind, rows: list[Row]) -> Case:
    """Join the waits of one account on one device with its requests."""
    device = device_of(rows[0])
    of_sync = slowest_disk_of_sync(model) if kind is FLUSH and not device else None
    where = of_sync or backing(model, device)
    wait = together(rows)
    chain = where.requests(model, *kind.operations)
    explained = disk_policy.requests_per_wait * chain.typical_ns
    if kind is FLUSH:
        writes, flushes = where.requests(model, "write"), where.requests(model, "flush")
        explained = COMMITS * (COMMIT_WRITES * writes.typical_ns + COMMIT_FLUSHES * flushes.typical_ns)
    # A thread waits for requests no longer than all of them took together.
    waiters = sum(thread.threads for thread in model.threads if kind.account in thread.accounts)
    in_requests = max(1, waiters) * (chain.queue.sum_ns + chain.service.sum_ns)
    return Case(where, rows, wait, typical_ns(wait), chain, explained, in_requests, of_sync is not None)


def without_cpus(model: Model) -> str:
    """Return the sign of kernel threads waiting for CPUs (they handle waits above a device), "" if there is none."""
    idle, queued_ns = idle_share(model), model.ns("runq.busy")
    if idle is None or idle > disk_policy.no_idle_cpu_share or fault(model, queued_ns) is Severity.INFO:
        return ""
    waited = f"{subject(model)} waited {duration(queued_ns)} for one"
    return f"CPUs were idle {percent(idle)} of the time, and {waited}"
