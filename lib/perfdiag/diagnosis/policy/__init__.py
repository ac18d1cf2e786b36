"""Every threshold that rules judge by, in families: disk_policy.timeout_ns. A user may set them in the configuration.

In: the table `thresholds` of the configuration. Out: the number in force, and which of them a user set.
"""

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from perfdiag.diagnosis.policy.cpu import cpu_policy
from perfdiag.diagnosis.policy.disk import disk_policy
from perfdiag.diagnosis.policy.filesystem import filesystem_policy
from perfdiag.diagnosis.policy.general import general_policy
from perfdiag.diagnosis.policy.idle import idle_policy
from perfdiag.diagnosis.policy.jvm import jvm_policy
from perfdiag.diagnosis.policy.local import local_policy
from perfdiag.diagnosis.policy.locks import locks_policy
from perfdiag.diagnosis.policy.memory import memory_policy
from perfdiag.diagnosis.policy.network import network_policy
from perfdiag.diagnosis.policy.nfs import nfs_policy
from perfdiag.diagnosis.policy.requests import requests_policy
from perfdiag.diagnosis.policy.runqueue import runqueue_policy
from perfdiag.diagnosis.policy.sql import sql_policy
from perfdiag.diagnosis.policy.threshold import Family, Threshold
from perfdiag.diagnosis.policy.virtual import virtual_policy

FAMILIES: tuple[Family, ...] = (
    general_policy,
    cpu_policy,
    runqueue_policy,
    disk_policy,
    filesystem_policy,
    nfs_policy,
    memory_policy,
    network_policy,
    requests_policy,
    locks_policy,
    local_policy,
    idle_policy,
    jvm_policy,
    sql_policy,
    virtual_policy,
)


@dataclass(frozen=True)
class Changed:
    """A threshold that a user set to something else than its default."""

    name: str  # "disk.timeout_ns"
    value: int | float
    default: int | float
    unit: str


def thresholds() -> Iterator[tuple[str, Threshold[int] | Threshold[float]]]:
    """Yield every threshold with its full name."""
    for family in FAMILIES:
        yield from ((f"{family.name}.{each.name}", each) for each in family.thresholds())


def accepted(name: str, value: object) -> int | float:
    """Return a user's value of a threshold. Raises ValueError with the reason if there is none of this name, or if it
    cannot have this value."""
    known = dict(thresholds())
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise ValueError(f"is no threshold; the nearest is {near[0]}" if near else "is no threshold")
    return known[name].accepted(value)


@contextmanager
def in_force(values: Mapping[str, int | float]) -> Iterator[None]:
    """Let the rules judge by a user's thresholds, by full name; all are valid (see `accepted`)."""
    for family in FAMILIES:
        prefix = f"{family.name}."
        family.set_by_user = {
            name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)
        }
    try:
        yield
    finally:
        for family in FAMILIES:
            family.set_by_user = {}


def changed() -> list[Changed]:
    """Return the thresholds in force that are not the defaults."""
    return [
        Changed(f"{family.name}.{each.name}", family.set_by_user[each.name], each.value, each.unit)
        for family in FAMILIES
        for each in family.thresholds()
        if family.set_by_user.get(each.name, each.value) != each.value
    ]


__all__ = [
    "FAMILIES",
    "Changed",
    "accepted",
    "changed",
    "cpu_policy",
    "disk_policy",
    "filesystem_policy",
    "general_policy",
    "idle_policy",
    "in_force",
    "jvm_policy",
    "local_policy",
    "locks_policy",
    "memory_policy",
    "network_policy",
    "nfs_policy",
    "requests_policy",
    "runqueue_policy",
    "sql_policy",
    "thresholds",
    "virtual_policy",
]
