"""What to do about an OOM kill, by the class of its cause, and how to see that it helped."""

from __future__ import annotations

import shlex

from perfdiag.diagnosis.evidence.memory.oom_causes import Cause, Holder, Holding
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix, plain, size
from perfdiag.facts.oom.oom_report import Report

NO_MORE_KILLS = "grep oom_kill /proc/vmstat, twice: the number stands still"
_SHARED = (
    "find what fills it: df -t tmpfs, ipcs -m, ls -l /dev/shm; delete or move it to a disk, and give every tmpfs a"
    " size= that memory can bear"
)
_LOCKED = "find who locks it: grep VmLck /proc/[0-9]*/status; let it lock less, or lower its limit (ulimit -l)"
_DIRTY = (
    "let writers wait earlier, so that less is unwritten at once: vm.dirty_bytes and vm.dirty_background_bytes at some"
    " seconds of what the slow device or mount writes; see MEM-DIRTY-THROTTLE"
)


def remedies_for(cause: Cause, report: Report, worst: Holding | None) -> list[Remedy]:
    """Return remedies, the best first; `worst` is what held most of the memory."""
    match cause:
        case Cause.CGROUP:
            return [*_of_holder(worst), *_limit(report)]
        case Cause.NUMA:
            return [
                fix("allow more memory nodes: cpuset.mems of the control group, or the policy of numactl (--membind)"),
                fix("put fewer processes on these nodes, or prefer them instead of binding (numactl --preferred)"),
            ]
        case Cause.FRAGMENTATION:
            return [
                fix(
                    f"let {plain(report.asker) or 'who asked'} ask for less at a time: smaller buffers or queues"
                    f" (it wanted {report.order_pages} pages in one piece)"
                ),
                fix("raise vm.min_free_kbytes by some percent of memory, so that compaction begins earlier"),
                fix("find what cannot be moved and holds the rest: slabtop -o -s c, /proc/pagetypeinfo"),
            ]
        case Cause.CACHE:
            return _of_holder(worst) or [fix(_SHARED)]
        case Cause.HOST:
            return [
                *_of_holder(worst),
                fix(
                    "give whoever may grow a limit of its own (MemoryHigh= and MemoryMax= of its unit), so that it"
                    " meets that instead of its neighbours"
                ),
                fix("more memory, or swap for what is rarely used"),
            ]
        case Cause.BY_HAND:
            return [fix("none is needed: somebody asked for it (sysrq f)")]
        case _:
            return [
                fix("keep whole kernel logs, level info included: journalctl -k --since shows what the journal has")
            ]


def _of_holder(worst: Holding | None) -> list[Remedy]:
    match worst.holder if worst else None:
        case Holder.SHARED:
            return [fix(_SHARED)]
        case Holder.LOCKED_FILE:
            return [fix(_LOCKED)]
        case Holder.DIRTY:
            return [fix(_DIRTY)]
        case Holder.KERNEL:
            return [fix("find the cache that grows: slabtop -o -s c; page tables grow with many large mappings")]
        case Holder.OTHER:
            return [fix("find who holds pages that no counter names: full pipes and sockets, drivers, huge pages")]
        case Holder.ANONYMOUS:
            return [fix("let the largest use less: a smaller heap, buffer pool or fewer workers; or find the leak")]
        case _:
            return []


def _limit(report: Report) -> list[Remedy]:
    group = report.group
    if group is None or not group.path:
        return []
    present = f" (then {size(group.limit_bytes)})" if group.limit_bytes is not None else ""
    return [
        fix(
            f"raise memory.max of {plain(group.path)}{present} where it is configured: the unit, the container or the"
            " pod; lowering it again below what is in use kills processes"
        )
    ]


def verify_for(cause: Cause, report: Report) -> str:
    """Return how to see that nobody is killed any more."""
    group = report.group
    if cause is Cause.CGROUP and group and group.path:
        path = shlex.quote(plain(f"/sys/fs/cgroup{group.path}/memory.events"))
        return f"grep oom_kill {path}, twice: the number stands still"
    return NO_MORE_KILLS


__all__ = ["NO_MORE_KILLS", "remedies_for", "verify_for"]
