"""Sums and groups by key, in the order in which the keys come first."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Member = TypeVar("Member")


def sums_by_key(parts: Iterable[tuple[Key, int]]) -> Counter[Key]:
    """Return the sum of the parts of each key; 0 for any other key."""
    found: Counter[Key] = Counter()
    for key, part in parts:
        found[key] += part
    return found


def groups_by_key(members: Iterable[tuple[Key, Member]]) -> dict[Key, list[Member]]:
    """Return the members of each key, in their order."""
    found: dict[Key, list[Member]] = {}
    for key, member in members:
        found.setdefault(key, []).append(member)
    return found
