"""How often the kernel says it has killed for lack of memory: on the whole host, and in which control groups.

Counters outlive the victims and the log.  They have no times: a group counts since it was made, the host since boot.
"""

import time
from dataclasses import dataclass

from perfdiag.common.directories import walk
from perfdiag.facts.texts import table

ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified")
MOST_GROUPS = 50_000
DEADLINE_S = 3.0
# Version 2 has counted a group's own events apart from those below it since 5.2; version 1 always did.
_FILES = ("memory.events.local", "memory.oom_control")


@dataclass(frozen=True)
class GroupCount:
    """A control group in which processes were killed."""

    path: str
    kills: int


@dataclass(frozen=True)
class Counts:
    """What was counted; None: could not be read."""

    host: int | None
    groups: tuple[GroupCount, ...] | None
    complete: bool = True  # False: there were more groups than time


def read(roots: tuple[str, ...] = ROOTS, vmstat: str = "/proc/vmstat") -> Counts:
    """Read all counters; takes three seconds at most, however many groups there are."""
    host = table(_text(vmstat)).get("oom_kill")
    end = time.monotonic() + DEADLINE_S
    found: dict[str, int] = {}
    seen, complete = 0, True
    for directory in (each for root in roots for each, _names in walk(root)):
        if directory in found:
            continue
        if seen >= MOST_GROUPS or time.monotonic() > end:
            complete = False
            break
        for name in _FILES:
            text = _text(f"{directory}/{name}")
            if text is not None:
                seen += 1
                found[directory] = table(text).get("oom_kill", 0)
                break
    groups = tuple(GroupCount(path, kills) for path, kills in found.items() if kills)
    return Counts(host, tuple(sorted(groups, key=lambda each: (-each.kills, each.path))) if seen else None, complete)


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 16)
    except OSError:
        return None
