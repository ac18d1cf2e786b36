"""Whose evicted pages were read again: those of the target's own cgroup, or, where it has none, of the whole host."""

from __future__ import annotations

from dataclasses import dataclass

from perfdiag.diagnosis.significance import plain
from perfdiag.facts.host_facts import MemoryGroup
from perfdiag.model.model import Model

# One counter for files and anonymous memory before Linux 5.9.
COUNTERS = ("workingset_refault_file", "workingset_refault")
# Of those: they come back sooner than the pages in use would have been, had they been let grow old.
ACTIVATED = "workingset_activate_file"
# A group of version 1 counts itself alone, and with all below it under this name.
WITH_BELOW = "total_"


@dataclass(frozen=True)
class Refaults:
    """Pages of files that came back after they had been evicted, in the window."""

    pages: int
    group: MemoryGroup | None  # None: of the whole host, neighbours included

    @property
    def where(self) -> str:
        """Return whose they are, in words."""
        return f"cgroup {plain(self.group.path)}" if self.group else "the whole host"

    @property
    def probe(self) -> str:
        """Return the file that counts them."""
        return f"{self.group.path}/memory.stat" if self.group else "/proc/vmstat"


def refaults(model: Model) -> Refaults | None:
    """Return those of the innermost group that holds all of the target, else of the host; None: not counted."""
    known = [group for group in model.facts.memory_groups if of_group(group) is not None]
    group = max(known, key=lambda each: (len(each.pids or ()), each.depth), default=None)
    own = of_group(group) if group else None
    if own is not None:
        return Refaults(own, group)
    host = next((n for name in COUNTERS if (n := model.facts.vmstat_delta(name)) is not None), None)
    return None if host is None else Refaults(host, None)


def activated(again: Refaults) -> int | None:
    """Return how many of them had been evicted so lately that somewhat more memory would have kept them."""
    if again.group is None:
        return None
    counted = again.group.changes or {}
    name = ACTIVATED
    return counted.get(WITH_BELOW + name, counted.get(name))


def of_group(group: MemoryGroup) -> int | None:
    """Return the refaults of one group and those below it."""
    counted = group.changes or {}
    names = (*(WITH_BELOW + name for name in COUNTERS), *COUNTERS)
    return next((counted[name] for name in names if name in counted), None)


__all__ = ["Refaults", "activated", "of_group", "refaults"]
