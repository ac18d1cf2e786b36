"""What a Java virtual machine of the target did in the window, by its own counters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.facts.jvm import Counters, HotSpot
from perfdiag.facts.texts import difference
from perfdiag.model.model import Model, once

# It may have been created a little before the wall clock that its counter has: that is in milliseconds.
CREATED_SLACK_NS = 50_000_000
_FULL = re.compile(r"full|MSC|MarkSweep|ParallelCompact", re.IGNORECASE)
# One limit is for all generations together.
_ONE_LIMIT = re.compile(r"G1|ZGC|Shenandoah")
_NO_EDEN = re.compile(r"ZGC|Shenandoah")
_EDEN = "sun.gc.generation.0.space.0"
# Its collector's time contains that of pauses, and its three kinds of collections are one.
_NESTED = re.compile(r"Shenandoah")
# JDK 8 says "25.372-b07", later ones "11.0.33+8": the time of a stop contains the time until all threads had stopped.
_OLD_TIMES = re.compile(r"\d+\.\d+-b\d+|(9|10|11)[.+]")


@dataclass(frozen=True)
class Collector:
    """Collections of one kind in the window."""

    name: str
    full: bool  # of the whole heap, with all threads stopped
    count: int
    ns: int | None  # with all threads stopped; None: it is not told apart

    @property
    def is_young(self) -> bool:
        """Whether it collects what was allocated since the last time: pauses of a concurrent cycle collect nothing."""
        return not self.full and "concurrent" not in self.name


@dataclass(frozen=True)
class Pool:
    """A part of the memory at the end of the window; used is the least that was seen."""

    name: str
    used_bytes: int
    committed_bytes: int
    limit_bytes: int | None  # None: not known


@dataclass(frozen=True)
class JavaMachine:
    """One virtual machine; None is not known."""

    pid: int
    version: str
    way: str  # how its counters were read: "memory" or "file"; "": not at all
    unread: str  # why
    window_ns: int  # between the two readings
    collectors: Sequence[Collector] = ()
    stops: int | None = None
    stopped_ns: int | None = None  # from the request to stop until all may go on
    reaching_ns: int | None = None  # of that: until the last thread had stopped
    generations: Sequence[Pool] = ()
    metaspace: Pool | None = None  # called permspace up to JDK 7
    metaspace_grown_bytes: int | None = None
    classes_loaded: int | None = None
    classes_unloaded: int | None = None
    cause: str = ""  # of the last collection, in the JVM's own words
    allocated_bytes: int | None = None  # by threads, to within what eden holds

    @property
    def collections(self) -> int:
        """How many there were of all kinds."""
        return sum(collector.count for collector in self.collectors)

    @property
    def collecting_ns(self) -> int | None:
        """How long all threads were stopped for collections; if unknown, for anything."""
        known = [collector.ns for collector in self.collectors if collector.count]
        if self.stopped_ns is None:
            return None
        if any(ns is None for ns in known):
            return self.stopped_ns
        return min(self.stopped_ns, sum(ns for ns in known if ns is not None))

    @property
    def is_nested(self) -> bool:
        """Whether its collectors do not tell how often they stop all threads, and for how long."""
        return any(_NESTED.match(collector.name) for collector in self.collectors)

    @property
    def old(self) -> Pool | None:
        """The generation of what lives long, or the only one."""
        return self.generations[-1] if self.generations else None


@once
def java_machines(model: Model) -> Sequence[JavaMachine]:
    """Return the virtual machines of the target, those that were stopped longest first."""
    found = [_machine(model, each) for each in model.facts.java_machines.values()]
    return sorted(found, key=lambda machine: (-(machine.stopped_ns or 0), machine.pid))


def machine_of(model: Model, pid: int) -> JavaMachine | None:
    """Return the virtual machine of a process whose counters were read."""
    return _read_machines(model).get(pid)


@once
def _read_machines(model: Model) -> dict[int, JavaMachine]:
    return {each.pid: each for each in java_machines(model) if each.way}


def _machine(model: Model, facts: HotSpot) -> JavaMachine:
    end = facts.end
    if end is None:
        return JavaMachine(facts.pid, "", "", facts.unread, 0)
    begin = facts.begin
    if _was_created_in(model, end):
        begin = Counters(model.header.start_ns, end.way, dict.fromkeys(end.numbers, 0), {})
    deltas = _Deltas(begin, end)
    collectors = _collectors(deltas)
    sync_ns, own_ns = deltas.ns("sun.rt.safepointSyncTime"), deltas.ns("sun.rt.safepointTime")
    contains = _OLD_TIMES.match(end.texts.get("java.property.java.vm.version", ""))
    window_ns = end.at_ns - begin.at_ns if begin else 0
    whole_ns = own_ns if contains or own_ns is None or sync_ns is None else min(own_ns + sync_ns, window_ns)
    return JavaMachine(
        facts.pid,
        end.texts.get("java.property.java.vm.version", ""),
        end.way,
        "",
        window_ns,
        collectors,
        deltas.count("sun.rt.safepoints"),
        whole_ns,
        sync_ns,
        _generations(facts.between or [end], collectors),
        metaspace := _metaspace(end),
        _grown(begin, metaspace),
        deltas.count("java.cls.loadedClasses"),
        deltas.count("java.cls.unloadedClasses"),
        end.texts.get("sun.gc.lastCause", ""),
        _allocated(begin, end, collectors),
    )


def _allocated(begin: Counters | None, end: Counters, collectors: Sequence[Collector]) -> int | None:
    """Return what was allocated: each collection of the young generation found eden full. None where there is no eden,
    or where a collector counts its stages (ZGC, Shenandoah)."""
    if begin is None or any(_NO_EDEN.search(collector.name) for collector in collectors):
        return None
    sizes = [counters.number(f"{_EDEN}.capacity") for counters in (begin, end)]
    known = [size for size in sizes if size]
    if not known or end.texts.get(f"{_EDEN}.name") != "eden":
        return None
    return sum(collector.count for collector in collectors if collector.is_young) * sum(known) // len(known)


def _was_created_in(model: Model, end: Counters) -> bool:
    """Return whether a virtual machine was created in the window, so that its counters began there."""
    created_ms = end.number("sun.rt.createVmBeginTime")
    return created_ms is not None and created_ms * 1_000_000 >= model.header.realtime_ns - CREATED_SLACK_NS


@dataclass(frozen=True)
class _Deltas:
    begin: Counters | None
    end: Counters

    def count(self, name: str) -> int | None:
        return difference(self.begin.number(name), self.end.number(name)) if self.begin else None

    def ns(self, name: str) -> int | None:
        """Return how far a counter of time went, at most the time between the readings: a stop that began before the
        first counts whole when it ends. The clock of a virtual machine has a frequency of its own."""
        ticks, per_second = self.count(name), self.end.number("sun.os.hrt.frequency")
        if self.begin is None or ticks is None or not per_second:
            return None
        return min(ticks * 1_000_000_000 // per_second, self.end.at_ns - self.begin.at_ns)


def _numbered(end: Counters, pattern: str) -> list[int]:
    """Return the numbers N of counters "sun.gc.collector.N.name" or the like."""
    found = {int(match[1]) for name in end.texts if (match := re.fullmatch(pattern, name))}
    return sorted(found)


def _collectors(deltas: _Deltas) -> list[Collector]:
    found = []
    for number in _numbered(deltas.end, r"sun\.gc\.collector\.([0-9]{1,2})\.name"):
        prefix = f"sun.gc.collector.{number}"
        name, count = deltas.end.texts[f"{prefix}.name"], deltas.count(f"{prefix}.invocations")
        if count is not None:
            nested = _NESTED.match(name)
            ns = None if nested else deltas.ns(f"{prefix}.time")
            found.append(Collector(name, bool(_FULL.search(name) and not nested), count, ns))
    return found


def _used(counters: Counters, prefix: str) -> int | None:
    spaces = [value for name, value in counters.numbers.items() if re.fullmatch(rf"{prefix}\.space\.[0-9]\.used", name)]
    return sum(spaces) if spaces else None


def _generations(readings: Sequence[Counters], collectors: Sequence[Collector]) -> list[Pool]:
    """Return the generations: what is told is from the last collection of any kind, which may have filled the old one;
    the emptiest of several readings comes near to what a full one leaves."""
    found, end = [], readings[-1]
    one_limit = any(_ONE_LIMIT.search(collector.name) for collector in collectors)
    for number in _numbered(end, r"sun\.gc\.generation\.([0-9])\.name"):
        prefix = f"sun.gc.generation.{number}"
        used = [bytes_ for each in readings if (bytes_ := _used(each, prefix)) is not None]
        committed, limit = end.number(f"{prefix}.capacity"), end.number(f"{prefix}.maxCapacity")
        if committed is not None and used and not _is_perm(end, number):
            name = end.texts[f"{prefix}.name"]
            found.append(Pool(name, min(used), committed, None if one_limit and number == 0 else limit or None))
    return found


def _is_perm(end: Counters, generation: int) -> bool:
    return end.texts.get(f"sun.gc.generation.{generation}.name", "").startswith("perm")


def _metaspace(end: Counters) -> Pool | None:
    for name, prefix in (("metaspace", "sun.gc.metaspace"), ("permspace", "sun.gc.generation.2.space.0")):
        used, committed = end.number(f"{prefix}.used"), end.number(f"{prefix}.capacity")
        if used is not None and committed is not None and (name == "metaspace" or _is_perm(end, 2)):
            return Pool(name, used, committed, end.number(f"{prefix}.maxCapacity") or None)
    return None


def _grown(begin: Counters | None, now: Pool | None) -> int | None:
    before = _metaspace(begin) if begin else None
    return now.committed_bytes - before.committed_bytes if before and now else None
