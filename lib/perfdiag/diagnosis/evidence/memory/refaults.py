"""Whose evicted pages were read again: those of the target's own cgroup, or, where it has none, of the whole host.

A refault alone shows no shortage: pages are also paged out by request (MADV_PAGEOUT, DAMON), and what a shortage of the
past took comes back later.  Where memory is too small the kernel reclaims in the same window as much as comes back.
"""

from dataclasses import dataclass

from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.significance import plain
from perfdiag.facts.host_facts import MemoryGroup
from perfdiag.model.model import Model

# One counter for files and anonymous memory before Linux 5.9.
COUNTERS = ("workingset_refault_file", "workingset_refault")
# Refaults so early that a little more memory would have kept the pages.
ACTIVATED = "workingset_activate_file"
# Reclaimed for lack of memory; pages paged out by request are in none of them, those of memory.reclaim in another one.
RECLAIMED = ("pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged")
# The same in /proc/vmstat, with what cgroups reclaim at their limits, which the ones above leave out there.
RECLAIMED_ON_HOST = ("pgsteal_anon", "pgsteal_file")
# Version 1 counts a group alone, and with its children under this prefix.
WITH_BELOW = "total_"
# Anonymous memory of a group with its children: version 1, version 2.
ANONYMOUS = ("total_rss", "anon")


@dataclass(frozen=True)
class Refaults:
    """File pages read again after eviction, in the window."""

    pages: int
    group: MemoryGroup | None  # None: of the whole host
    reclaimed: int | None = None  # pages that were reclaimed for lack of memory in the window; None: not counted

    @property
    def reclaimed_probe(self) -> str:
        """Return the file that counts what was reclaimed: a group of version 1 does not."""
        counted = (self.group.changes or {}) if self.group else {}
        return self.probe if any(name in counted for name in RECLAIMED) else "/proc/vmstat"

    @property
    def short(self) -> bool:
        """Return whether memory was short in the window, as far as is known."""
        return self.reclaimed is None or self.reclaimed >= memory_policy.refaulted_again_share * self.pages

    @property
    def where(self) -> str:
        """Return their scope in words."""
        return f"cgroup {plain(self.group.path)}" if self.group else "the whole host"

    @property
    def probe(self) -> str:
        """Return the file with their count."""
        return f"{self.group.path}/memory.stat" if self.group else "/proc/vmstat"


def refaults(model: Model) -> Refaults | None:
    """Return those of the innermost group with all of the target, else of the host; None: not counted."""
    known = [group for group in model.facts.memory_groups if of_group(group) is not None]
    group = max(known, key=lambda each: (len(each.pids or ()), each.depth), default=None)
    own = of_group(group) if group else None
    if own is not None:
        return Refaults(own, group, reclaimed(model, group))
    host = next((n for name in COUNTERS if (n := model.facts.vmstat_delta(name)) is not None), None)
    return None if host is None else Refaults(host, None, reclaimed(model))


def reclaimed(model: Model, group: MemoryGroup | None = None) -> int | None:
    """Return the pages that were reclaimed for lack of memory in the window: of the group, where it counts them, else
    of the whole host, in which all others' are, too; None: not counted."""
    counted = (group.changes or {}) if group else {}
    known = [counted[name] for name in RECLAIMED if name in counted]
    if known:
        return sum(known)
    found = [n for name in RECLAIMED_ON_HOST if (n := model.facts.vmstat_delta(name)) is not None]
    return sum(found) if len(found) == len(RECLAIMED_ON_HOST) else None


def has_others(model: Model, group: MemoryGroup) -> bool:
    """Return whether processes other than the target are surely in a group: it holds more anonymous memory than the
    target has.  What processes share by fork() counts once there and several times for the target."""
    stat = group.stat or {}
    held = next((stat[name] for name in ANONYMOUS if name in stat), None)
    if held is None:
        return False
    own = [process.anonymous_bytes for process in model.facts.processes.values()]
    known = [size for size in own if size is not None]
    if len(known) < len(own):
        return False
    return held - memory_policy.group_counters_behind_bytes > memory_policy.refaults_of_others_factor * sum(known)


def activated(again: Refaults) -> int | None:
    """Return how many of them a little more memory would have kept."""
    if again.group is None:
        return None
    counted = again.group.changes or {}
    name = ACTIVATED
    return counted.get(WITH_BELOW + name, counted.get(name))


def of_group(group: MemoryGroup) -> int | None:
    """Return the refaults of one group with its children."""
    counted = group.changes or {}
    names = (*(WITH_BELOW + name for name in COUNTERS), *COUNTERS)
    return next((counted[name] for name in names if name in counted), None)
