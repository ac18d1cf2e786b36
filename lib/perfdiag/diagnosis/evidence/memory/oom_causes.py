"""Why memory ran out: the class of the cause, and the use of memory.

The kernel can free clean file pages and reclaimable slab at once: they never cause a shortage.  Shared memory (tmpfs,
/dev/shm, shmget) counts as cache in `free`, but can only go to swap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from perfdiag.facts.cpu_sets import cpu_list
from perfdiag.facts.oom.oom_report import GroupMemory, HostMemory, Report, Zone


class Cause(Enum):
    """The class of a cause, as printed."""

    CGROUP = "cgroup limit"
    HOST = "host memory"
    CACHE = "unreclaimable cache"
    FRAGMENTATION = "fragmentation"
    NUMA = "NUMA or cpuset"
    BY_HAND = "asked for by hand"
    UNKNOWN = "not told"


class Holder(Enum):
    """What memory was used for."""

    ANONYMOUS = "process memory"
    SHARED = "shared memory and tmpfs"
    LOCKED_FILE = "files locked in memory"
    DIRTY = "dirty file pages"
    CLEAN = "clean file pages"
    KERNEL = "kernel slab and page tables"
    RECLAIMABLE = "reclaimable slab"
    FREE = "free"
    OTHER = "uncounted pages (pipes, drivers, network, huge pages)"


# Cached in the words of `free`, but not freeable at once.
CACHE = (Holder.SHARED, Holder.LOCKED_FILE, Holder.DIRTY)
_GIVEN_BACK = (Holder.CLEAN, Holder.RECLAIMABLE, Holder.FREE)


@dataclass(frozen=True)
class Holding:
    """A part of the memory."""

    holder: Holder
    bytes: int


def cause_of(report: Report) -> Cause:
    """Return the class of a report's cause; UNKNOWN if the log does not say enough."""
    if report.order == -1:
        return Cause.BY_HAND
    if report.of_group or report.constraint == "CONSTRAINT_MEMCG":
        return Cause.CGROUP
    if report.constraint in ("CONSTRAINT_CPUSET", "CONSTRAINT_MEMORY_POLICY"):
        return Cause.NUMA
    if report.host is None or report.mixed:
        return Cause.UNKNOWN
    if fragmented(report.host, report.order or 0):
        return Cause.FRAGMENTATION
    held = holdings(report.host)
    largest = in_the_way([each for each in held if each.holder not in CACHE])
    cache_bytes = sum(each.bytes for each in held if each.holder in CACHE)
    if largest is None and not cache_bytes:
        return Cause.UNKNOWN
    return Cause.CACHE if largest is None or cache_bytes > largest.bytes else Cause.HOST


def in_the_way(held: Sequence[Holding]) -> Holding | None:
    """Return the largest part that could not be freed at once."""
    stuck = [each for each in held if each.holder not in _GIVEN_BACK and each.bytes]
    return max(stuck, key=lambda each: each.bytes, default=None)


def most_of_group(group: GroupMemory | None, held: Sequence[Holding]) -> Holding | None:
    """Return what most of a control group's memory was used for; None where no part is half of its limit."""
    worst, limit_bytes = in_the_way(held), group.limit_bytes if group else None
    return None if worst and limit_bytes is not None and 2 * worst.bytes < limit_bytes else worst


def holdings(host: HostMemory) -> list[Holding]:
    """Return the use of the host's memory, largest first; no page counts twice."""
    pages = host.pages

    def of(*names: str) -> int:
        return sum(pages.get(name, 0) for name in names)

    files, shared = of("active_file", "inactive_file", "isolated_file"), of("shmem")
    unevictable, dirty = of("unevictable"), min(files, of("dirty", "writeback", "unstable"))
    # File lists hold evictable pages: the rest of the cache, without shared memory, is locked.
    locked = 0 if host.cache_pages is None else min(unevictable, max(0, host.cache_pages - shared - files))
    anonymous = max(0, of("active_anon", "inactive_anon", "isolated_anon") + unevictable - locked - shared)
    found = {
        Holder.ANONYMOUS: anonymous,
        Holder.SHARED: shared,
        Holder.LOCKED_FILE: locked,
        Holder.DIRTY: dirty,
        Holder.CLEAN: files - dirty,
        Holder.KERNEL: of("slab_unreclaimable", "pagetables", "sec_pagetables"),
        Holder.RECLAIMABLE: of("slab_reclaimable"),
        Holder.FREE: of("free", "free_pcp"),
    }
    if host.usable_bytes is not None:
        found[Holder.OTHER] = max(0, host.usable_bytes // host.page_bytes - sum(found.values()))
    return _sorted({holder: number * host.page_bytes for holder, number in found.items()})


def group_holdings(group: GroupMemory) -> list[Holding]:
    """Return the use of a control group's memory, largest first; empty if the log does not say."""
    return holdings_by_statistics(group.stat)


def holdings_by_statistics(stat: Mapping[str, int]) -> list[Holding]:
    """Return the same by a memory.stat of either version."""
    if not stat:
        return []

    def of(*names: str) -> int:
        return sum(stat.get(name, 0) for name in names)

    shared = of("shmem")
    if "anon" in stat:  # version 2
        anonymous, files = of("anon"), max(0, of("file") - shared)
        dirty, kernel = of("file_dirty", "file_writeback"), stat.get("kernel", of("slab", "kernel_stack", "pagetables"))
    else:
        anonymous, files = of("rss"), max(0, of("cache") - shared)
        dirty, kernel = of("dirty", "writeback"), 0
    listed = of("active_file", "inactive_file")
    locked = min(of("unevictable"), max(0, files - listed)) if "active_file" in stat else 0
    dirty = min(dirty, files - locked)
    found = {
        Holder.ANONYMOUS: anonymous,
        Holder.SHARED: shared,
        Holder.LOCKED_FILE: locked,
        Holder.DIRTY: dirty,
        Holder.CLEAN: files - locked - dirty,
        Holder.KERNEL: kernel,
    }
    return _sorted(found)


def _sorted(found: Mapping[Holder, int]) -> list[Holding]:
    held = [Holding(holder, number) for holder, number in found.items()]
    return sorted(held, key=lambda each: -each.bytes)


def fragmented(host: HostMemory, order: int) -> bool:
    """Return whether enough was free, but not in one piece."""
    if not 0 < order <= 32:
        return False
    wanted_bytes = host.page_bytes << order
    spare = [zone for zone in host.zones if zone.blocks and spare_bytes(zone, host.page_bytes) >= wanted_bytes]
    return bool(spare) and not any(together_bytes(zone, wanted_bytes) for zone in spare)


def spare_bytes(zone: Zone, page_bytes: int) -> int:
    """Return how much of a zone's free memory is available to all."""
    return zone.free_bytes - (zone.minimum_bytes or 0) - zone.reserved_pages * page_bytes


def together_bytes(zone: Zone, block_bytes: int) -> int:
    """Return how much of a zone's free memory is in blocks of at least this size."""
    return sum(size * number for size, number in zone.blocks.items() if size >= block_bytes)


def largest_block_bytes(host: HostMemory) -> int | None:
    """Return the size of the largest available free block."""
    sizes = [
        size
        for zone in host.zones
        if spare_bytes(zone, host.page_bytes) > 0
        for size, number in zone.blocks.items()
        if number
    ]
    return max(sizes, default=None)


def elsewhere_bytes(report: Report) -> int | None:
    """Return the free memory on forbidden nodes; None if the log does not say."""
    allowed = cpu_list(report.nodes)  # nodes are listed as CPUs are
    free = report.host.bytes("free") if report.host else None
    if report.host is None or free is None or not allowed:
        return None
    # The log prints zones of allowed nodes only, but free pages of all.
    listed = [zone for zone in report.host.zones if zone.node in allowed]
    return max(0, free - sum(zone.free_bytes for zone in listed)) if listed else None
