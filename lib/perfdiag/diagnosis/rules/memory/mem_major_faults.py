"""A rule on pages of mapped files that are read from disk again and again."""

import shlex
from collections.abc import Iterable

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.confidence import half_width
from perfdiag.diagnosis.evidence.fix_checks import fewer, steady
from perfdiag.diagnosis.evidence.memory.group_memory import limit_remedies
from perfdiag.diagnosis.evidence.memory.refaults import Refaults, refaults
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import (
    Evidence,
    EvidenceKind,
    Mechanism,
    Outcome,
    Remedy,
    rule,
)
from perfdiag.diagnosis.significance import (
    about,
    claims_of,
    duration,
    fine,
    fix,
    percent,
    plain,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import is_named

MAJOR_FAULT = "memory.major_fault"


@rule(
    "MEM-MAJOR-FAULTS",
    title="Mapped files are read from disk again and again",
    accounts=(MAJOR_FAULT,),
    meaning="Threads touch pages of mapped files (programs, libraries, databases that use mmap) that are not in"
    " memory, and wait for the disk. If those pages had been evicted and the kernel still reclaims memory,"
    " memory is too small. If nothing is reclaimed, they were paged out by request (MADV_PAGEOUT, DAMON) or"
    " by a past shortage; if they were never evicted, the file was cold. Neither is a fault, unless the"
    " device is slow.",
    measured="Waits for major faults by file, with the refaults of the target's cgroup (workingset_refault_file in"
    " memory.stat) and the functions that touched the pages. If the cgroup counts none (the root), the"
    " host's refaults (/proc/vmstat) are shown, but not as a cause. Memory is short if at least half as"
    " many pages were reclaimed (pgsteal_*). Slow is 10 ms per fault; one refault for two waits is a"
    " shortage.",
    alternatives="A start with a cold cache; a file that was just replaced; another process of the same cgroup, or"
    " host, whose refaults are in the same counter.",
    remedies="Give more memory to host or cgroup, or use less; read cold files ahead.",
    verify="Fewer waits in memory.major_fault; workingset_refault_file in memory.stat of the cgroup, or in"
    " /proc/vmstat, stands still.",
)
def major_faults(model: Model) -> Iterable[Outcome]:
    """Join major faults with refaults and with the length of a fault."""
    rows = model.rows_of(MAJOR_FAULT)
    taken_ns = total_ns(rows)
    if not worth(model, taken_ns):
        yield fine(model, "MEM-MAJOR-FAULTS", "major faults", MAJOR_FAULT)
        return
    whole = together(rows)
    again = refaults(model)
    came_back = again is not None and again.pages >= memory_policy.refaults_per_wait_share * max(whole.count, 1)
    evicted = came_back and again is not None and again.short
    slow = typical_ns(whole) >= memory_policy.slow_fault_ns
    files = [row for row in rows if row.key.startswith("file:")]
    worst = plain(files[0].object) if files and 2 * total_ns(files) > taken_ns else ""
    touching = _touching(model)
    evidence = [waits(whole, "waits for pages of mapped files"), *([touching] if touching else [])]
    limits = ["" if worst else "which file is not known"]
    if again is None:
        limits.append("neither memory.stat nor /proc/vmstat says whether the pages had been in memory before")
    else:
        evidence += _eviction(again, came_back=came_back)
        if evicted and not again.group:
            limits.append("refaults are counted for the whole host: they may be of others' pages")
    claim = _claim(taken_ns, again, typical_ns(whole) if slow else None, evicted=evicted, came_back=came_back)
    yield conclude(
        model,
        claims_of(rows),
        headline=_headline(again, slow=slow, evicted=evicted, came_back=came_back),
        claim=f"{claim}{f', most for {worst}' if worst else ''}.",
        mechanism=Mechanism.LIMIT if evicted else Mechanism.SLOW if slow else Mechanism.OTHERS,
        departs=evicted or slow,
        doubts=limits,
        evidence=evidence,
        remedies=_fault_remedies(model, again if evicted else None, files[0].key if worst else ""),
        alternatives=[
            "a start with a cold cache",
            "pages dropped or paged out by request (posix_fadvise, madvise, DAMON)",
            *(["a shortage of memory that ended before the window"] if came_back and not evicted else []),
            *([] if again and again.group else ["refaults of other processes are counted, too"]),
        ],
        verify=steady(again.probe, "workingset_refault")
        if evicted and again
        else fewer(model, "major faults", whole.count),
    )


def _eviction(again: Refaults, *, came_back: bool) -> list[Evidence]:
    """Return how many pages came back, and where they are many, how many were taken away meanwhile."""
    text = f"{again.pages:,} pages came back after eviction ({again.where})"
    found = [Evidence(text, float(again.pages), "count", again.probe)]
    if came_back and again.reclaimed is not None:
        text = f"{again.reclaimed:,} pages were reclaimed for lack of memory in the window"
        found.append(Evidence(text, float(again.reclaimed), "count", again.reclaimed_probe))
    return found


def _headline(again: Refaults | None, *, slow: bool, evicted: bool, came_back: bool) -> str:
    if evicted and again and again.group:
        return "Mapped pages are evicted and read again: memory is too small"
    if evicted:
        return "Mapped pages had to be read again, on a host short of memory"
    if slow:
        return "Mapped files are read from a slow device"
    if came_back:
        return "Mapped pages are read back from disk; memory was not short meanwhile"
    return "Mapped files are read from disk, page by page"


def _claim(taken_ns: int, again: Refaults | None, slow_ns: int | None, *, evicted: bool, came_back: bool) -> str:
    """Return what happens, without an end: only the target's own refaults prove that memory is too small for it."""
    waiting = f"{duration(taken_ns)} of waiting"
    if evicted and again and again.group:
        return f"Memory is too small: mapped pages of its cgroup are evicted and read again, {waiting}"
    if slow_ns is not None:
        return f"Mapped files are read from a slow device: {about(slow_ns)} per fault"
    if evicted:
        return f"Pages of mapped files were not in memory, on a host that reads evicted pages again: {waiting}"
    if came_back and again:
        few = f"only {again.reclaimed:,} pages were" if again.reclaimed else "nothing was"
        return f"Mapped pages were read back from disk, and {few} reclaimed for lack of memory: {waiting}"
    seen = ", and the kernel had not evicted them lately" if again is not None else ""
    return f"Pages of mapped files were not in memory{seen}: {waiting} for their disk"


def _fault_remedies(model: Model, evicting: Refaults | None, key: str) -> list[Remedy]:
    """Return what keeps pages in memory, as far as is known who evicts them, or reads them earlier."""
    ahead = fix(_name_it(model, key))
    if evicting is None:
        return [ahead]
    if evicting.group is None:
        return [fix("see who takes the host's memory: ps -eo pid,rss,comm --sort -rss | head"), ahead]
    limited = evicting.group.events.get("max", 0) or evicting.group.events.get("high", 0)
    if limited:
        return limit_remedies(evicting.group)
    return [fix("let other processes use less memory, or give the host more; memory.low on its cgroup keeps its pages")]


def _name_it(model: Model, key: str) -> str:
    """Return how to read the file ahead, and before that, how to learn its name."""
    _, _, rest = key.partition(":")
    device, _, inode = rest.rpartition(":")
    if not inode.isascii() or not inode.isdigit():
        return (
            "see which file it is (perf trace -F maj --no-syscalls -p PID shows file and offset of each fault), then"
            " read it before it is needed (MAP_POPULATE, madvise MADV_WILLNEED)"
        )
    mount = model.facts.mount_of(device)
    where = shlex.quote(mount.mountpoint) if mount and mount.mountpoint.isprintable() else "MOUNTPOINT"
    return (
        f"find {where} -xdev -inum {inode} names the file; read it before it is needed (vmtouch -t on it, or"
        " MAP_POPULATE in the program)"
    )


def _touching(model: Model) -> Evidence | None:
    """Return the function that touched most of the missing pages, from the stacks of sampled waits."""
    counts = sums_by_key((stack.user[0] if stack.user else "", stack.count) for stack in model.wait_stacks(MAJOR_FAULT))
    whole = counts.total()
    named = [(name, count) for name, count in counts.most_common() if name and is_named(name)]
    if not named:
        return None
    function, count = named[0]
    part = count / whole
    return Evidence(
        f"touched in {plain(function)}: {percent(part)} of {whole:,} sampled waits",
        part,
        "share",
        "stack samples",
        kind=EvidenceKind.FUNCTIONS,
        error=half_width(part, whole),
    )
