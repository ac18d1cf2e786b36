"""MEM-CACHE-MISSES: data is read from disk again because the page cache evicted it."""

import math
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import steady
from perfdiag.diagnosis.evidence.memory.dropped_caches import dropped
from perfdiag.diagnosis.evidence.memory.group_memory import hidden, hidden_remedies, limit_remedies, uses
from perfdiag.diagnosis.evidence.memory.host_memory import hidden_evidence, hidden_words, less_on_host
from perfdiag.diagnosis.evidence.memory.refaults import Refaults, activated, has_others, refaults
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    duration,
    fix,
    percent,
    size,
    together,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import FileRead, Model

READ = "disk.read"
FILES_NAMED = 3


@rule(
    "MEM-CACHE-MISSES",
    title="Evicted pages are read from disk again",
    accounts=(READ,),
    meaning=(
        "Threads wait for reads of pages evicted from the page cache: the cache is smaller than the data the target"
        " keeps reading. First reads always come from disk and do not count. It is a profile if fewer than half as"
        " many pages were reclaimed for lack of memory. A cache that is dropped on request, again and again, is a"
        " fault of whoever does that."
    ),
    measured=(
        "disk.read, bytes read from storage (/proc/PID/io) and refaults of the target's cgroup, or of the host less"
        " other processes' reads. The claimed share is the refaulted part of the reads. Pages added to the cache per"
        " file show files read twice."
    ),
    alternatives=(
        "Another process in the same cgroup reads as much again. One scan larger than any memory. Pages dropped on"
        " request (posix_fadvise) count as first reads."
    ),
    remedies="Give the host or cgroup more memory, give other processes less, or read less (an index, an own cache).",
    verify="disk.read falls, and workingset_refault_file in memory.stat or /proc/vmstat stops growing.",
    beats=(
        "DISK-READ-SLOW",
        "DISK-QUEUEING",
        "DISK-SATURATED",
        "DIR-HUGE",
        "STORAGE-LOOP",
    ),
)
def cache_misses(model: Model) -> Iterable[Outcome]:
    """Judge disk reads by refaults, with the files read."""
    waited_ns = model.ns(READ)
    if not worth(model, waited_ns):
        yield Check(
            "MEM-CACHE-MISSES",
            f"disk reads {percent(model.share(READ))} of busy time{_hit_text(model)}",
            model.share(READ),
            "share",
        )
        return
    rowless = without_rows(model, "MEM-CACHE-MISSES", READ)
    if rowless:
        yield rowless
        return
    if on_request := dropped(model, READ):
        yield on_request
        return
    read, again = _read_bytes(model), refaults(model)
    if again is None or not read:
        missing = "neither memory.stat nor /proc/vmstat counts refaults" if again is None else _unread(model)
        yield Silence(
            "MEM-CACHE-MISSES",
            f"it is unknown whether the pages of {duration(waited_ns)} of reads had been evicted: {missing}",
            "as root on the host: grep workingset_refault /proc/vmstat; cat /proc/PID/io",
        )
        return
    counted = again.pages * model.page_bytes / read
    most, alone = min(1.0, counted), _are_own(model, again, counted)
    part = most if alone else min(most, _surely_own_bytes(model, again, read) / read)
    if not worth(model, round(part * waited_ns)):
        if worth(model, round(most * waited_ns)):
            where, why = ("on the host", "does not count them (root or none)")
            if again.group:
                where, why = f"in {again.where}", "has other members"
            yield Silence(
                "MEM-CACHE-MISSES",
                f"{again.pages:,} evicted pages were read again {where} by an unknown process: {subject(model)}'s"
                f" cgroup {why}",
                "run it in its own cgroup (systemd-run --scope COMMAND) and read memory.stat there",
            )
            return
        text = f"{percent(part)} of {size(read)} read from disk had been evicted{_hit_text(model)}"
        yield Check("MEM-CACHE-MISSES", text, part, "share")
        return
    yield _finding(model, again, part, read, alone=alone)


def _finding(model: Model, again: Refaults, part: float, read: int, *, alone: bool) -> Finding:
    ns = round(part * model.ns(READ))
    own = "" if alone else ", without other processes' reads"
    at_limit = _is_at_limit(again)
    taking = hidden(again.group) if at_limit and again.group else ""
    text = f"{percent(part)} of {size(read)} read: {again.pages:,} pages had been evicted ({again.where}){own}"
    evidence = [
        waits(together(model.rows_of(READ)), "reads"),
        Evidence(text, part, "share", f"{again.probe}, /proc/PID/io"),
        *_hit_evidence(model, read),
        *(uses(again.group) if at_limit and again.group else []),
        *([] if again.group else hidden_evidence(model)),
        *_file_evidence(model),
    ]
    if not again.short:
        text = f"{again.reclaimed:,} pages reclaimed for lack of memory in the window, the rest before"
        evidence.append(Evidence(text, float(again.reclaimed or 0), "count", again.reclaimed_probe))
    near = activated(again)
    if near is not None:
        text = f"{near:,} of them would fit in a little more memory"
        evidence.append(Evidence(text, float(near), "count", again.probe))
    named = "" if model.measured("page_cache") else "the files read are unknown"
    return conclude(
        model,
        {READ: ns},
        headline=f"{subject(model, begin=True)} reads evicted page-cache data from disk again"
        + (f": {taking}{_of_limit(again)}" if taking else "" if again.group else hidden_words(model)),
        claim=(
            f"{subject(model, begin=True)} waited {duration(ns)} for evicted pages, {percent(part)} of its disk"
            f" reads{_mostly(model)}."
        ),
        mechanism=Mechanism.LIMIT,
        departs=again.short,
        doubts=[named, _nameless(model)],
        evidence=evidence,
        remedies=_remedies(model, again),
        alternatives=["one scan larger than any memory"]
        if again.short
        else ["pages paged out by request (madvise, DAMON)", "a shortage of memory that ended before the window"],
        verify=steady(again.probe, "workingset_refault"),
    )


def _are_own(model: Model, again: Refaults, counted: float) -> bool:
    """Return whether nobody else shares the group that counts them, as far as is known; `counted` are they as a part of
    what the target has read."""
    factor = memory_policy.refaults_of_others_factor
    return again.group is not None and counted <= factor and not has_others(model, again.group)


def _surely_own_bytes(model: Model, again: Refaults, read: int) -> int:
    """Return the refaults surely of the target, if its cgroup counts none, or those of other members, too.
    A refault is a read: other processes have at most as many as they read.  Data read twice had been evicted.
    """
    counted = again.pages * model.page_bytes
    kibibytes = model.facts.vmstat_delta("pgpgin")
    others = counted if kibibytes is None else max(0, 1024 * kibibytes - read)
    return max(0, counted - others, min(counted, _twice_bytes(model)))


def _twice_bytes(model: Model) -> int:
    """Return the bytes surely read twice: more of a file than its size."""
    return sum(max(0, file.read_bytes - file.size_bytes) for file in model.files_read)


def _mostly(model: Model) -> str:
    """Return the file with most of the waiting, if there is one."""
    if _nameless(model):
        return ""
    whole = sum(file.waited_ns for file in model.files_read)
    first = next(iter(_read(model)), None)
    return f", mostly in {first.name}" if first and 2 * first.waited_ns > whole > 0 else ""


def _read(model: Model) -> list[FileRead]:
    """Return the files of which pages came from disk; waits for pages of others brought none."""
    return [file for file in model.files_read if file.read_bytes]


def _file_evidence(model: Model) -> list[Evidence]:
    found = [
        Evidence(
            f"{duration(file.waited_ns)} for {file.name}: {size(file.read_bytes)} of {size(file.size_bytes)} read",
            float(file.read_bytes),
            "bytes",
            "mm_filemap_add_to_page_cache",
        )
        for file in _read(model)[:FILES_NAMED]
    ]
    twice = _twice_bytes(model)
    if twice:
        text = f"{size(twice)} or more read twice in the window"
        found.append(Evidence(text, float(twice), "bytes", "mm_filemap_add_to_page_cache"))
    return found


def _sum(model: Model, field: str) -> int | None:
    """Return a counter of /proc/PID/io over the processes that have it."""
    known = [n for process in model.facts.processes.values() if (n := getattr(process, field)) is not None]
    return sum(known) if known else None


def _read_bytes(model: Model) -> int | None:
    """Return the bytes read from storage; of ended processes those through the page cache."""
    counted = 0 if _nameless(model) else sum(file.read_bytes for file in model.files_read)
    return _sum(model, "read_bytes") or counted or None


def _nameless(model: Model) -> str:
    """Return the limit of an incomplete table of files, "" if complete."""
    lost = model.coverage.lost.get("files_full", 0)
    return f"the table of files was full for {lost:,} reads: numbers of files are too small" if lost else ""


def _unread(model: Model) -> str:
    """Return why the bytes read are unknown."""
    nameless = _nameless(model)
    return f"the bytes read are unknown, {nameless}" if nameless else "the bytes read are unknown"


def _hit_share(model: Model) -> float | None:
    """Return the largest possible part of bytes read from memory."""
    asked, read = _sum(model, "read_characters"), _sum(model, "read_bytes")
    return max(0.0, 1 - read / asked) if asked and read is not None else None


def _hit_text(model: Model) -> str:
    hits = _hit_share(model)
    return "" if hits is None else f"; up to {percent(hits)} of bytes came from memory"


def _hit_evidence(model: Model, read: int) -> list[Evidence]:
    asked, hits = _sum(model, "read_characters"), _hit_share(model)
    if hits is None or not asked:
        return []
    text = f"{size(read)} of {size(asked)} in read calls came from disk (pipes and sockets included)"
    return [Evidence(text, hits, "share", "/proc/PID/io")]


def _of_limit(again: Refaults) -> str:
    limit = again.group.limit_bytes if again.group else None
    return f" of {size(limit)}" if limit and not math.isinf(limit) else ""


def _is_at_limit(again: Refaults) -> bool:
    return bool(again.group and (again.group.events.get("max", 0) or again.group.events.get("high", 0)))


def _remedies(model: Model, again: Refaults) -> list[Remedy]:
    less = fix("read less: an index, a smaller working set, or a cache in the program")
    if again.group is None:
        return [*less_on_host(model), less]
    if _is_at_limit(again):
        return [*hidden_remedies(again.group), *limit_remedies(again.group), less]
    return [fix("set memory.low on its cgroup, give other processes less memory, or add memory")]
