"""Where threads were parked while they served requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perfdiag.runtimeidle import WORK

Pair = tuple[str, str]


@dataclass(frozen=True)
class Parked:
    """Time that requests which one thread served were parked, by account and key as rows have them."""

    ns: Mapping[Pair, int] = field(default_factory=dict)
    over_slo_ns: Mapping[Pair, int] = field(default_factory=dict)  # of those over the objective alone
    outside_ns: int = 0  # as far as was seen: until somebody came with what was not there before
    tids: frozenset[int] = frozenset()  # threads that were parked on these futexes

    def rows(self, ns: int, *, over_slo: bool) -> dict[Pair, int]:
        """Return the rows in which `ns` of all requests, or of those over the objective, were parked.

        Not that of threads that had nothing to do: somebody else had the request then.
        """
        sums = self.over_slo_ns if over_slo else self.ns
        whole = sum(sums.values())
        parts = {pair: part * min(ns, whole) // whole for pair, part in sums.items() if part and pair[0] != WORK}
        return {pair: part for pair, part in parts.items() if part}


__all__ = ["Parked"]
