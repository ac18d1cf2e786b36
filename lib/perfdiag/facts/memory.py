"""Memory: pages, huge pages, merging, NUMA nodes, dirty limits, swap."""

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


@dataclass(frozen=True)
class SamePageMerging:
    """KSM."""

    running: bool | None
    pages_sharing: int | None


@dataclass(frozen=True)
class NumaNode:
    """One node; the counters are pages allocated, begin to end."""

    node: int
    cpus: str | None
    total_bytes: int | None
    free_bytes: int | None
    distances: tuple[int, ...]
    local: int | None
    other: int | None


@dataclass(frozen=True)
class DirtyLimits:
    """When writers are paused: settings, and the thresholds the kernel computed from them."""

    limit_bytes: int | None  # None when the ratio counts
    threshold_bytes: int | None
    dirty_bytes: int | None  # at the end


@dataclass(frozen=True)
class Swap:
    """Swap space, and traffic begin to end."""

    total_bytes: int
    used_bytes: int
    pages_in: int | None
    pages_out: int | None
    swappiness: int | None


def _zoned(values: Mapping[str, int], name: str) -> int | None:
    """Return a counter of vmstat, summed over the zones where a kernel splits it."""
    if name in values:
        return values[name]
    parts = [values[f"{name}_{zone}"] for zone in ZONES if f"{name}_{zone}" in values]
    return sum(parts) if parts else None


def vmstat_delta(texts: Texts, name: str) -> int | None:
    """Return how far a counter went from begin to end."""
    begin, end = (table(texts.text("/proc/vmstat", phase)) for phase in ("begin", "end"))
    return difference(_zoned(begin, name), _zoned(end, name))


def read_thp(texts: Texts) -> TransparentHugePages | None:
    """Read the policy; None where the kernel has no THP or nothing was recorded."""
    directory = "/sys/kernel/mm/transparent_hugepage"
    enabled, defrag = (chosen(texts.text(f"{directory}/{file}")) for file in ("enabled", "defrag"))
    return TransparentHugePages(enabled, defrag) if enabled or defrag else None


def read_ksm(texts: Texts) -> SamePageMerging | None:
    """Read KSM."""
    directory = "/sys/kernel/mm/ksm"
    run = texts.number(f"{directory}/run")
    if run is None:
        return None
    return SamePageMerging(running=run == 1, pages_sharing=texts.number(f"{directory}/pages_sharing"))


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
    ratio, limit_bytes = (texts.number(f"/proc/sys/vm/dirty_{name}") for name in ("ratio", "bytes"))
    if ratio is None and limit_bytes is None:
        return None
    page, threshold = page_bytes(texts), table(texts.text("/proc/vmstat")).get("nr_dirty_threshold")
    return DirtyLimits(
        limit_bytes=limit_bytes or None,
        threshold_bytes=threshold * page if threshold is not None and page else None,
        dirty_bytes=table(texts.text("/proc/meminfo")).get("Dirty"),
    )


def read_swap(texts: Texts) -> Swap | None:
    """Read /proc/swaps, or the sums of meminfo where it is missing."""
    text = texts.text("/proc/swaps")
    memory = table(texts.text("/proc/meminfo"))
    total, free = memory.get("SwapTotal"), memory.get("SwapFree")
    if total is None or free is None:
        if text is None:
            return None
        areas = [
            (number(words[2]), number(words[3])) for line in lines_of(text)[1:] if len(words := words_of(line)) >= 4
        ]
        known = [(size * 1024, used * 1024) for size, used in areas if size is not None and used is not None]
        total, free = sum(size for size, _ in known), sum(size - used for size, used in known)
    return Swap(
        total_bytes=total,
        used_bytes=total - free,
        pages_in=vmstat_delta(texts, "pswpin"),
        pages_out=vmstat_delta(texts, "pswpout"),
        swappiness=texts.number("/proc/sys/vm/swappiness"),
    )
