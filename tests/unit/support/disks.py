"""Disks as facts know them: `disk("8:0", "sda", rotational=True)`."""

from __future__ import annotations

from typing import Any

from perfdiag.facts.host_facts import Disk, DiskActivity

from unit.support.known import blank


def disk(device: str, name: str, **known: Any) -> Disk:
    """Return a disk; a whole one unless `whole` says otherwise."""
    return blank(Disk, device=device, name=name, **({"whole": name, "members": ()} | known))


def disks(*each: Disk) -> dict[str, Disk]:
    """Return the mapping that `Facts.disks` is."""
    return {one.device: one for one in each}


def activity(**known: int) -> DiskActivity:
    """Return counters of a disk; those not given are zero."""
    numbers = ("reads", "read_bytes", "read_ns", "writes", "written_bytes", "write_ns", "busy_ns", "weighted_ns")
    return blank(DiskActivity, **(dict.fromkeys(numbers, 0) | known))


__all__ = ["activity", "disk", "disks"]
