"""Facts made from texts, for tests."""

from __future__ import annotations

from perfdiag.facts.host_facts import Facts
from perfdiag.recording import schema

SECOND = 1_000_000_000
MOUNTINFO = (
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 8:1 / / rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "31 27 8:1 /srv /mnt/with\\040space rw,relatime shared:1 master:7 - ext4 /dev/sda1 rw\n"
    "40 27 0:45 / /data rw,relatime - btrfs /dev/sdb1 rw,compress=zstd\n"
    "41 27 0:50 / /jobs rw,relatime - nfs4 nas1:/jobs rw,vers=4.2,rsize=1048576\n"
    "42 27 0:51 / /cut sh"
)
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max open files            1024                 524288               files     \n"
    "Max nice priority         0                    0                    \n"
)
TIMES = {"begin": 10 * SECOND, "series": 15 * SECOND, "end": 20 * SECOND}


def lines(**phases: dict[str, str]) -> list[schema.Fact]:
    """Return fact lines: ``lines(begin={path: text}, end={path: text})``."""
    return [
        schema.Fact(at_ns=TIMES[phase], phase=phase, path=path, text=text)
        for phase, texts in phases.items()
        for path, text in texts.items()
    ]


def facts(begin: dict[str, str] | None = None, end: dict[str, str] | None = None, **series: dict[str, str]) -> Facts:
    """Return the facts of texts recorded at the begin and the end."""
    return Facts.parse(lines(begin=begin or {}, end=end or {}, **series))


def error(path: str, why: str, phase: str = "begin") -> schema.Fact:
    """Return a fact that could not be read."""
    return schema.Fact(at_ns=TIMES[phase], phase=phase, path=path, error=why)


__all__ = ["LIMITS", "MOUNTINFO", "SECOND", "TIMES", "error", "facts", "lines"]
