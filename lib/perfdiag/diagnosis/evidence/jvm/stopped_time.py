"""Time that a Java virtual machine stopped its threads, divided by what for, as its counters tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.policy import jvm_policy
from perfdiag.diagnosis.rule import Claim, Evidence
from perfdiag.diagnosis.significance import duration, percent, plain, size, total_ns, waits, worth
from perfdiag.model.java_machines import JavaMachine, Pool, java_machines, machine_of
from perfdiag.model.model import Model, Row, once
from perfdiag.model.waits.stopped_threads import ACCOUNT
from perfdiag.recording.distribution import merged

COUNTERS = "PerfMemory"
_PAUSES = " pauses"  # how names of collectors end whose pauses are counted


@dataclass(frozen=True)
class Stopped:
    """What one virtual machine cost the target's threads."""

    pid: int
    machine: JavaMachine | None  # None: its counters were not read
    for_collection: Sequence[Row]  # a collection that a thread asked for, or the heap's lock meanwhile
    for_safepoint: Sequence[Row]

    @property
    def collecting_part(self) -> float:
        """Which part of stops was for collections; without counters, what most waits show.

        By their number, because a collector counts only the time in which it works, and each stop has a beginning and
        an end; but no less than that time, because a few long collections outweigh many short stops.
        """
        machine = self.machine
        if machine and machine.stops:
            worked = (machine.collecting_ns or 0) / machine.stopped_ns if machine.stopped_ns else 0.0
            return 1.0 if machine.is_nested else min(1.0, max(machine.collections / machine.stops, worked))
        return float(bool(self.for_collection))

    @property
    def reaching_part(self) -> float:
        """Which part of stops went by until all threads had stopped; 0 where that is not known."""
        machine = self.machine
        return min(1.0, (machine.reaching_ns or 0) / machine.stopped_ns) if machine and machine.stopped_ns else 0.0

    @property
    def collecting_of_window(self) -> float | None:
        """Which part of the window the JVM collected with all threads stopped; None: not known."""
        machine = self.machine
        if machine is None or machine.collecting_ns is None or not machine.window_ns:
            return None
        return machine.collecting_ns / machine.window_ns

    def collecting_claims(self) -> dict[Claim, int]:
        """Return the time of threads that collections took, by row."""
        found = _claims(self.for_collection, 1.0)
        part = max(0.0, self.collecting_part)
        return found | _claims(self.for_safepoint, part)

    def reaching_claims(self) -> dict[Claim, int]:
        """Return the time that went by until all threads had stopped: who asks for a collection waits for it, too."""
        return _claims([*self.for_safepoint, *self.for_collection], self.reaching_part)

    def claims(self, part: float) -> dict[Claim, int]:
        """Return that part of the time that threads were stopped."""
        return _claims(self.for_safepoint, part)

    def waits(self) -> list[Evidence]:
        """Return how long threads waited for collections and at safepoints, and how often."""
        found = []
        for rows, what in ((self.for_safepoint, "stops of a thread"), (self.for_collection, "waits for a collection")):
            if rows:
                found.append(waits(merged(row.distribution for row in rows), what))
        return found


def _claims(rows: Sequence[Row], part: float) -> dict[Claim, int]:
    found: dict[Claim, int] = {}
    for row in rows:
        ns = round(row.distribution.sum_ns * part)
        if ns:
            found[row.account, row.key] = found.get((row.account, row.key), 0) + ns
    return found


@once
def stopped(model: Model) -> list[Stopped]:
    """Return what each virtual machine of the target cost, also those that stopped nobody."""
    rows = model.rows_of(ACCOUNT)
    pids = dict.fromkeys([*(row.pid for row in rows), *(each.pid for each in java_machines(model))])
    found = []
    for pid in pids:
        own = model.rows_of(ACCOUNT, pid=pid)
        collection = [row for row in own if row.key.startswith("lock:collection")]
        safepoint = [row for row in own if not row.key.startswith("lock:collection")]
        found.append(Stopped(pid, machine_of(model, pid), collection, safepoint))
    return sorted(found, key=lambda each: -total_ns([*each.for_collection, *each.for_safepoint]))


def collecting_is_fault(model: Model, each: Stopped) -> bool:
    """Return whether collections take so much of the window, or of requests, that they are a fault."""
    part = each.collecting_of_window
    return (
        part is None
        or part >= jvm_policy.collections_of_window_share
        or model.share_of_requests(ACCOUNT) >= jvm_policy.collections_of_window_share
    )


def has_pressure(model: Model) -> bool:
    """Return whether a virtual machine's own counters show that its collections are a fault: they know better than
    sampled stacks."""
    return any(
        each.machine is not None
        and worth(model, sum(each.collecting_claims().values()))
        and collecting_is_fault(model, each)
        for each in stopped(model)
    )


def collections_shown(machine: JavaMachine) -> list[Evidence]:
    """Return as evidence how many collections of each kind there were, and how long all threads were stopped."""
    found = []
    for collector in machine.collectors:
        if collector.count:
            took = "" if collector.ns is None else f", all threads stopped {duration(collector.ns)} in all"
            what = f"collections by {plain(collector.name)}"
            if collector.name.endswith(_PAUSES):  # ZGC counts each of them, of which a collection has several
                what = plain(collector.name)
            if machine.is_nested:  # each of their phases counts, whatever kind of collection that belongs to
                name, _, _ = collector.name.partition(" ")
                what = f"phases of collections by {plain(name)}"
            text = f"{collector.count:,} {what}{took}"
            found.append(Evidence(text, float(collector.count), "count", COUNTERS))
    if machine.stopped_ns is not None and machine.window_ns:
        part = machine.stopped_ns / machine.window_ns
        text = f"all threads stopped {duration(machine.stopped_ns)} in {machine.stops or 0:,} stops"
        found.append(Evidence(f"{text}, {percent(part)} of the window", float(machine.stopped_ns), "ns", COUNTERS))
    return found


def allocation_shown(machine: JavaMachine) -> list[Evidence]:
    """Return as evidence how much threads allocated, where that is known."""
    a_second = allocated_a_second(machine)
    if a_second is None:
        return []
    young = sum(collector.count for collector in machine.collectors if collector.is_young)
    text = f"threads allocate about {size(a_second)} a second: eden filled {young:,} times"
    return [Evidence(text, a_second, "bytes/s", COUNTERS)]


def allocated_a_second(machine: JavaMachine) -> float | None:
    """Return how many bytes threads allocated a second, None where that is not known."""
    if machine.allocated_bytes is None or not machine.window_ns:
        return None
    return machine.allocated_bytes * 1_000_000_000 / machine.window_ns


def old_part(machine: JavaMachine) -> float | None:
    """Return how full the generation of what lives long was after collections, None where that is not known."""
    old = machine.old
    return old.used_bytes / old.limit_bytes if old and old.limit_bytes else None


def fill(pool: Pool) -> str:
    """Return how full a pool is: "41.0 MiB of at most 42.7 MiB (96 %)"."""
    if pool.limit_bytes is None:
        return size(pool.used_bytes)
    return (
        f"{size(pool.used_bytes)} of at most {size(pool.limit_bytes)} ({percent(pool.used_bytes / pool.limit_bytes)})"
    )


def pool_shown(pool: Pool) -> Evidence:
    """Return as evidence how full a generation is."""
    text = f"generation {plain(pool.name)} after collections: {fill(pool)}"
    return Evidence(text, float(pool.used_bytes), "bytes", COUNTERS)
