"""Memory: pages, huge pages, merging, NUMA nodes, dirty limits, swap."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.facts.texts import Texts, changes, chosen, difference, lines_of, number, table, words_of

ZONES = ("dma", "dma32", "normal", "highmem", "movable", "device")


@dataclass(frozen=True)
class TransparentHugePages:
    """Policy words as in /sys/kernel/mm/transparent_hugepage."""

    enabled: str | None  # always, madvise, never
    defrag: str | None
    shmem_enabled: str | None


@dataclass(frozen=True)
class SamePageMerging:
    """KSM."""

    running: bool | None
    pages_shared: int | None
    pages_sharing: int | None
    scanned_pages: int | None  # begin to end, where the kernel counts them


@dataclass(frozen=True)
class NumaNode:
    """One node; the counters are pages allocated, begin to end."""

    node: int
    cpus: str | None
    total_bytes: int | None
    free_bytes: int | None
    distances: tuple[int, ...]
    hit: int | None
    miss: int | None
    foreign: int | None
    local: int | None
    other: int | None


@dataclass(frozen=True)
class DirtyLimits:
    """When writers are paused: settings, and the thresholds the kernel computed from them."""

    ratio_percent: int | None
    background_ratio_percent: int | None
    limit_bytes: int | None  # None when the ratio counts
    background_limit_bytes: int | None
    threshold_bytes: int | None
    background_threshold_bytes: int | None
    dirty_bytes: int | None  # at the end
    writeback_bytes: int | None


@dataclass(frozen=True)
class SwapArea:
    """One line of /proc/swaps."""

    name: str
    kind: str
    size_bytes: int
    used_bytes: int


@dataclass(frozen=True)
class Swap:
    """Swap space, and traffic begin to end."""

    total_bytes: int
    used_bytes: int
    areas: tuple[SwapArea, ...]
    pages_in: int | None
    pages_out: int | None
    swappiness: int | None


def zoned(values: Mapping[str, int], name: str) -> int | None:
    """Return a counter of vmstat, summed over the zones where a kernel splits it."""
    if name in values:
        return values[name]
    parts = [values[f"{name}_{zone}"] for zone in ZONES if f"{name}_{zone}" in values]
    return sum(parts) if parts else None


def vmstat_delta(texts: Texts, name: str) -> int | None:
    """Return how far a counter went from begin to end."""
    begin, end = (table(texts.text("/proc/vmstat", phase)) for phase in ("begin", "end"))
    return difference(zoned(begin, name), zoned(end, name))


def read_thp(texts: Texts) -> TransparentHugePages | None:
    """Read the policy; None where the kernel has no THP or nothing was recorded."""
    directory = "/sys/kernel/mm/transparent_hugepage"
    enabled, defrag, shmem = (chosen(texts.text(f"{directory}/{f}")) for f in ("enabled", "defrag", "shmem_enabled"))
    return TransparentHugePages(enabled, defrag, shmem) if enabled or defrag else None


def read_ksm(texts: Texts) -> SamePageMerging | None:
    """Read KSM."""
    directory = "/sys/kernel/mm/ksm"
    run = texts.number(f"{directory}/run")
    if run is None:
        return None
    return SamePageMerging(
        running=run == 1,
        pages_shared=texts.number(f"{directory}/pages_shared"),
        pages_sharing=texts.number(f"{directory}/pages_sharing"),
        scanned_pages=texts.delta(f"{directory}/pages_scanned"),
    )


@dataclass(frozen=True)
class KernelThread:
    """A thread of the kernel that costs time of others; the recorder tells it from a process of the same name."""

    pid: int
    cpu_ns: int  # begin to end


def read_kernel_threads(texts: Texts) -> dict[str, KernelThread]:
    """Return the recorded threads of the kernel by name."""
    found = {}
    for pid in texts.names(r"/proc/([0-9]{1,10})/comm"):
        name = texts.word(f"/proc/{pid}/comm")
        words = [words_of(texts.text(f"/proc/{pid}/schedstat", phase))[:1] for phase in ("begin", "end")]
        times = [number(word[0]) if word else None for word in words]
        used_ns = difference(*times)
        if name and used_ns is not None:
            found[name] = KernelThread(int(pid), used_ns)
    return found


def read_free_pieces(texts: Texts) -> Sequence[int]:
    """Read the free pieces by order over all nodes and zones."""
    pieces: list[int] = []
    for line in lines_of(texts.text("/proc/buddyinfo")):
        counts = [number(word) for word in words_of(line.partition(", zone")[2])[1:]]
        for order, count in enumerate(counts):
            pieces += [0] * (order + 1 - len(pieces))
            pieces[order] += count or 0
    return pieces


def read_numa_nodes(texts: Texts) -> Sequence[NumaNode]:
    """Read all recorded nodes."""
    directory = "/sys/devices/system/node"
    nodes = []
    for name in texts.names(rf"{directory}/(node[0-9]{{1,9}})/(?:cpulist|meminfo|numastat)"):
        place = f"{directory}/{name}"
        memory = table(re.sub(r"(?m)^Node [0-9]+ ", "", texts.text(f"{place}/meminfo") or ""))
        begin, end = (table(texts.text(f"{place}/numastat", phase)) for phase in ("begin", "end"))
        counts = changes(begin, end)
        distances = [number(word) for word in words_of(texts.text(f"{place}/distance"))]
        nodes.append(
            NumaNode(
                node=int(name[4:]),
                cpus=texts.word(f"{place}/cpulist"),
                total_bytes=memory.get("MemTotal"),
                free_bytes=memory.get("MemFree"),
                distances=tuple(value for value in distances if value is not None),
                hit=counts.get("numa_hit"),
                miss=counts.get("numa_miss"),
                foreign=counts.get("numa_foreign"),
                local=counts.get("local_node"),
                other=counts.get("other_node"),
            )
        )
    return nodes


def page_bytes(texts: Texts) -> int | None:
    """Return the page size: the power of two that vmstat's pages and meminfo's bytes agree on."""
    pages, memory = table(texts.text("/proc/vmstat")), table(texts.text("/proc/meminfo"))
    count, size = pages.get("nr_mapped", 0), memory.get("Mapped", 0)
    exponent = round(math.log2(size / count)) if count > 0 and size > 0 else 0
    return 1 << exponent if 12 <= exponent <= 16 else None


def read_dirty_limits(texts: Texts) -> DirtyLimits | None:
    """Read the settings and what came out of them."""
    settings = {
        name: texts.number(f"/proc/sys/vm/dirty_{name}")
        for name in ("ratio", "background_ratio", "bytes", "background_bytes")
    }
    if all(value is None for value in settings.values()):
        return None
    pages, page, memory = table(texts.text("/proc/vmstat")), page_bytes(texts), table(texts.text("/proc/meminfo"))
    threshold, background = pages.get("nr_dirty_threshold"), pages.get("nr_dirty_background_threshold")
    return DirtyLimits(
        ratio_percent=settings["ratio"],
        background_ratio_percent=settings["background_ratio"],
        limit_bytes=settings["bytes"] or None,
        background_limit_bytes=settings["background_bytes"] or None,
        threshold_bytes=threshold * page if threshold is not None and page else None,
        background_threshold_bytes=background * page if background is not None and page else None,
        dirty_bytes=memory.get("Dirty"),
        writeback_bytes=memory.get("Writeback"),
    )


def read_swap(texts: Texts) -> Swap | None:
    """Read /proc/swaps, or the sums of meminfo where it is missing."""
    text = texts.text("/proc/swaps")
    memory = table(texts.text("/proc/meminfo"))
    areas = []
    for line in lines_of(text)[1:]:
        words = words_of(line)
        size, used = (number(words[2]), number(words[3])) if len(words) >= 4 else (None, None)
        if size is not None and used is not None:
            areas.append(SwapArea(words[0], words[1], size * 1024, used * 1024))
    total, free = memory.get("SwapTotal"), memory.get("SwapFree")
    if total is None or free is None:
        if text is None:
            return None
        total, free = sum(area.size_bytes for area in areas), sum(area.size_bytes - area.used_bytes for area in areas)
    return Swap(
        total_bytes=total,
        used_bytes=total - free,
        areas=tuple(areas),
        pages_in=vmstat_delta(texts, "pswpin"),
        pages_out=vmstat_delta(texts, "pswpout"),
        swappiness=texts.number("/proc/sys/vm/swappiness"),
    )


__all__ = [
    "DirtyLimits",
    "KernelThread",
    "NumaNode",
    "SamePageMerging",
    "Swap",
    "TransparentHugePages",
    "page_bytes",
    "read_dirty_limits",
    "read_free_pieces",
    "read_kernel_threads",
    "read_ksm",
    "read_numa_nodes",
    "read_swap",
    "read_thp",
    "vmstat_delta",
    "zoned",
]
