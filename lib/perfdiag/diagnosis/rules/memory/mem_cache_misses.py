"""A rule on reads that go to the disk because the page cache could not keep what was read before."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.memory.refaults import Refaults, activated, refaults
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    duration,
    fault,
    fix,
    judged,
    percent,
    size,
    together,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model

READ = "disk.read"
FILES_NAMED = 3
# A cgroup with so many times the refaults that the target can have had holds others, whose they are.
OTHERS_IN_GROUP = 1.25


@rule(
    "MEM-CACHE-MISSES",
    title="What the page cache could not keep is read from disk again",
    accounts=(READ,),
    meaning="Threads wait for reads of pages that had been in memory and were evicted: the page cache that is left for"
    " the target is smaller than what it keeps reading. What is read for the first time comes from disk on any host,"
    " however much memory it has, and is no part of it.",
    measured="Joins disk.read with bytes read from storage and the bytes that system calls read (/proc/PID/io), with"
    " the refaults (pages that come back after eviction) of the target's own cgroup, else, or where others are in"
    " that, less what others read on the host, and with the pages that its threads brought into the page cache by"
    " file, all over the window. Its share is the part of the reads that were refaults. A file of which more was"
    " brought in than it is long was read twice for certain. It is profile where less than half as many pages were"
    " reclaimed for want of memory.",
    alternatives="A neighbour in the same cgroup that reads as much as the target again; one scan that is larger than"
    " any memory, of which nothing is used twice before it is evicted. Pages dropped by request (posix_fadvise) count"
    " as first read.",
    remedies="More memory for the host or the cgroup, less for others, less read: an index, a cache of the program.",
    verify="perfdiag latency again: disk.read; workingset_refault_file standing still in memory.stat of the cgroup, or"
    " /proc/vmstat.",
    beats=(
        "DISK-READ-SLOW",
        "DISK-QUEUEING",
        "DISK-SATURATED",
        "DIR-HUGE",
        "STORAGE-LOOP",
    ),
)
def cache_misses(model: Model) -> Iterable[Outcome]:
    """Join reads from disk with refaults and with the files that missed."""
    waited_ns = model.ns(READ)
    if not worth(model, waited_ns):
        yield Check(
            "MEM-CACHE-MISSES",
            f"waiting for what was not in memory {percent(model.share(READ))} of busy time{_hit_text(model)}",
            model.share(READ),
            "share",
        )
        return
    rowless = without_rows(model, "MEM-CACHE-MISSES", READ)
    if rowless:
        yield rowless
        return
    read, again = _read_bytes(model), refaults(model)
    if again is None or not read:
        missing = "neither memory.stat nor /proc/vmstat counts refaults" if again is None else _unread(model)
        yield Silence(
            "MEM-CACHE-MISSES",
            f"{duration(waited_ns)} of reads, but not whether their pages had been in memory before: {missing}",
            "as root, on the host itself: grep workingset_refault /proc/vmstat; cat /proc/PID/io",
        )
        return
    counted = again.pages * model.page_bytes / read
    most, alone = min(1.0, counted), again.group is not None and counted <= OTHERS_IN_GROUP
    part = most if alone else min(most, _surely_own_bytes(model, again, read) / read)
    if not worth(model, round(part * waited_ns)):
        if worth(model, round(most * waited_ns)):
            where, why = ("on the host", "(the root, or none) does not count them")
            if again.group:
                where, why = f"in {again.where}", "holds others, too"
            yield Silence(
                "MEM-CACHE-MISSES",
                f"{again.pages:,} evicted pages were read again {where}, and it is not known by whom:"
                f" {subject(model)}'s cgroup {why}",
                "run it in a cgroup of its own: systemd-run --scope COMMAND, or a unit; memory.stat of that tells",
            )
            return
        text = f"{percent(part)} of {size(read)} read from disk had been in memory before{_hit_text(model)}"
        yield Check("MEM-CACHE-MISSES", text, part, "share")
        return
    yield _finding(model, again, part, read, alone=alone)


def _finding(model: Model, again: Refaults, part: float, read: int, *, alone: bool) -> Finding:
    ns = round(part * model.ns(READ))
    own = "" if alone else "; what others can have read taken off, at least"
    text = f"{again.pages:,} pages came back after eviction ({again.where}){own}: {percent(part)} of {size(read)} read"
    evidence = [
        waits(together(model.rows_of(READ)), "waits for reads"),
        Evidence(text, part, "share", f"{again.probe}, /proc/PID/io"),
        *_hit_evidence(model, read),
        *_file_evidence(model),
    ]
    if not again.short:
        text = (
            f"{again.reclaimed:,} pages were reclaimed for want of memory in the window: others were paged out before"
        )
        evidence.append(Evidence(text, float(again.reclaimed or 0), "count", again.reclaimed_probe))
    near = activated(again)
    if near is not None:
        text = f"{near:,} of them came back sooner than pages in use are replaced: little more memory would keep them"
        evidence.append(Evidence(text, float(near), "count", again.probe))
    named = "" if model.measured("page_cache") else "which files were read is not known"
    confidence, limits = judged(model, Confidence.HIGH, [named, _nameless(model)])
    return Finding(
        "MEM-CACHE-MISSES",
        fault(model, ns) if again.short else Severity.INFO,
        confidence,
        f"{percent(part)} of what {subject(model)} reads from disk had been in memory and was evicted: {duration(ns)}"
        f" of waiting{_mostly(model)}.",
        {READ: ns},
        evidence,
        _remedies(again),
        alternatives=["one scan larger than any memory"]
        if again.short
        else ["pages paged out by request (madvise, DAMON)", "a shortage of memory that ended before the window"],
        limits=limits,
        verify=f"grep workingset_refault {shlex.quote(again.probe)}, twice: it stands still",
        headline=f"{subject(model, begin=True)} reads data from disk again that the page cache had evicted",
        mechanism=Mechanism.LIMIT,
    )


def _surely_own_bytes(model: Model, again: Refaults, read: int) -> int:
    """Return how much of the refaults is the target's for certain, where its cgroup counts none, or others', too.

    A refault is a read: others have at most as many as they read. And what was read more than once was evicted, if
    anything was.
    """
    counted = again.pages * model.page_bytes
    kibibytes = model.facts.vmstat_delta("pgpgin")
    others = counted if kibibytes is None else max(0, 1024 * kibibytes - read)
    return max(0, counted - others, min(counted, _twice_bytes(model)))


def _twice_bytes(model: Model) -> int:
    """Return what was certainly read more than once: more of a file than it is long."""
    return sum(max(0, file.read_bytes - file.size_bytes) for file in model.files_read)


def _mostly(model: Model) -> str:
    """Return the file that most of the waiting is for, if there is one and none can have waited for more unseen."""
    if _nameless(model):
        return ""
    whole = sum(file.waited_ns for file in model.files_read)
    first = next(iter(model.files_read), None)
    return f", most of it in {first.name}" if first and 2 * first.waited_ns > whole > 0 else ""


def _file_evidence(model: Model) -> list[Evidence]:
    found = [
        Evidence(
            f"{file.name}: {duration(file.waited_ns)} of waiting, {size(file.read_bytes)} brought in of"
            f" {size(file.size_bytes)}",
            float(file.read_bytes),
            "bytes",
            "mm_filemap_add_to_page_cache",
        )
        for file in model.files_read[:FILES_NAMED]
    ]
    twice = _twice_bytes(model)
    if twice:
        text = f"{size(twice)} were read more than once in the window, at least"
        found.append(Evidence(text, float(twice), "bytes", "mm_filemap_add_to_page_cache"))
    return found


def _sum(model: Model, field: str) -> int | None:
    """Return a counter of /proc/PID/io over the processes that have it."""
    known = [n for process in model.facts.processes.values() if (n := getattr(process, field)) is not None]
    return sum(known) if known else None


def _read_bytes(model: Model) -> int | None:
    """Return the bytes read from storage; of processes that ended those that passed the page cache, if all did."""
    counted = 0 if _nameless(model) else sum(file.read_bytes for file in model.files_read)
    return _sum(model, "read_bytes") or counted or None


def _nameless(model: Model) -> str:
    """Return what files_read does not have of the reads; "" where it has all."""
    lost = model.coverage.lost.get("files_full", 0)
    return f"{lost:,} reads are of files that found no room: what is said of files is at least so" if lost else ""


def _unread(model: Model) -> str:
    """Return why the bytes read are not known."""
    nameless = _nameless(model)
    return f"no bytes read are known, for {nameless}" if nameless else "no bytes read are known"


def _hit_share(model: Model) -> float | None:
    """Return the part of the bytes read by system calls that came from memory, at most."""
    asked, read = _sum(model, "read_characters"), _sum(model, "read_bytes")
    return max(0.0, 1 - read / asked) if asked and read is not None else None


def _hit_text(model: Model) -> str:
    hits = _hit_share(model)
    return "" if hits is None else f"; at most {percent(hits)} of bytes read came from memory"


def _hit_evidence(model: Model, read: int) -> list[Evidence]:
    asked, hits = _sum(model, "read_characters"), _hit_share(model)
    if hits is None or not asked:
        return []
    text = f"of {size(asked)} that system calls read, from pipes and sockets too, {size(read)} came from disk"
    return [Evidence(f"{text}: at most {percent(hits)} were in memory", hits, "share", "/proc/PID/io")]


def _remedies(again: Refaults) -> list[Remedy]:
    less = fix("read less: an index, a smaller working set, or a cache of the program's own that fits")
    if again.group is None:
        return [fix("see who takes the host's memory: ps -eo pid,rss,comm --sort -rss | head; or add memory"), less]
    if again.group.events.get("max", 0) or again.group.events.get("high", 0):
        return [fix("raise the memory limit of its cgroup, or use less in it: see MEM-CGROUP-LIMIT"), less]
    return [fix("let its neighbours use less, or give the host more memory; memory.low on its cgroup keeps its pages")]


__all__ = ["cache_misses"]
