"""Remedies for an OOM kill, by the class of its cause, and how to verify them."""

from perfdiag.diagnosis.evidence.fix_checks import steady
from perfdiag.diagnosis.evidence.memory.oom_causes import Cause, Holder, Holding
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix, plain, size
from perfdiag.facts.oom.oom_report import GroupMemory, Report

NO_MORE_KILLS = steady("/proc/vmstat", "oom_kill")
_SHARED = (
    "find the large files: df -t tmpfs, ipcs -m, ls -l /dev/shm; delete those that nobody uses or move them to a disk,"
    " and mount every tmpfs with a size="
)
_LOCKED = "find the process with locked memory: grep VmLck /proc/[0-9]*/status; lock less, or lower ulimit -l"
_DIRTY = (
    "lower vm.dirty_bytes and vm.dirty_background_bytes to a few seconds of the slow device's rate (see"
    " MEM-DIRTY-THROTTLE)"
)


def remedies_for(cause: Cause, report: Report, worst: Holding | None) -> list[Remedy]:
    """Return remedies, the best first; `worst` is the largest use of memory."""
    match cause:
        case Cause.CGROUP:
            return [*remedies_for_holder(worst), *_limit(report)]
        case Cause.NUMA:
            return [
                fix("allow more memory nodes: cpuset.mems of the cgroup, or numactl --membind"),
                fix("run fewer processes on these nodes, or use numactl --preferred instead of --membind"),
            ]
        case Cause.FRAGMENTATION:
            return [
                fix(
                    f"make {plain(report.asker) or 'the requesting process'} request less at a time: smaller buffers or"
                    f" queues (it requested {report.order_pages} pages in one piece)"
                ),
                fix("raise vm.min_free_kbytes by some percent of memory: compaction starts earlier"),
                fix("find unmovable memory: slabtop -o -s c, /proc/pagetypeinfo"),
            ]
        case Cause.CACHE:
            return remedies_for_holder(worst) or [fix(_SHARED)]
        case Cause.HOST:
            return [
                *remedies_for_holder(worst),
                fix("limit processes that may grow (MemoryHigh= and MemoryMax= of their units)"),
                fix("add memory, or swap for rarely used data"),
            ]
        case Cause.BY_HAND:
            return [fix("nothing to fix: somebody started it by hand (sysrq f)")]
        case _:
            return [fix("keep complete kernel logs with level info (journalctl -k --since)")]


def remedies_for_holder(worst: Holding | None) -> list[Remedy]:
    """Return what makes the largest use of memory smaller."""
    match worst.holder if worst else None:
        case Holder.SHARED:
            return [fix(_SHARED)]
        case Holder.LOCKED_FILE:
            return [fix(_LOCKED)]
        case Holder.DIRTY:
            return [fix(_DIRTY)]
        case Holder.KERNEL:
            return [fix("find the growing cache: slabtop -o -s c; page tables grow with many large mappings")]
        case Holder.OTHER:
            return [fix("find the user of uncounted pages: full pipes and sockets, drivers, huge pages")]
        case Holder.ANONYMOUS:
            return [
                fix("make the largest process use less (smaller heap or buffer pool, fewer workers), or find its leak")
            ]
        case _:
            return []


def _limit(report: Report) -> list[Remedy]:
    group = report.group
    if group is None or not group.path:
        return []
    present = f" (was {size(group.limit_bytes)})" if group.limit_bytes is not None else ""
    return [
        fix(
            f"raise {'memory.limit_in_bytes' if _is_first_version(group) else 'memory.max'} of {plain(group.path)}"
            f"{present} in its unit, container or pod"
        )
    ]


def _is_first_version(group: GroupMemory) -> bool:
    """Return whether it is one of cgroup version 1, whose statistics have other names."""
    return "cache" in group.stat and "anon" not in group.stat


def verify_for(cause: Cause, report: Report) -> str:
    """Return how to see that there are no more kills."""
    group = report.group
    if cause is Cause.CGROUP and group and group.path:
        first = _is_first_version(group)
        file = f"memory{group.path}/memory.oom_control" if first else f"{group.path.lstrip('/')}/memory.events"
        return steady(plain(f"/sys/fs/cgroup/{file}"), "oom_kill")
    return NO_MORE_KILLS
