"""Where threads were parked while they served requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perfdiag.model.waits.idle_runtime_threads import WORK

Pair = tuple[str, str]


@dataclass(frozen=True)
class Parked:
    """Time that requests which one thread served were parked, by account and key as rows have them."""

    ns: Mapping[Pair, int] = field(default_factory=dict)
    over_slo_ns: Mapping[Pair, int] = field(default_factory=dict)  # of those over the objective alone
    outside_ns: int = 0  # as far as was seen: until somebody came with what was not there before
    tids: frozenset[int] = frozenset()  # threads that were parked on these futexes

    @property
    def kept_ns(self) -> dict[Pair, int]:
        """Those of requests that kept the objective."""
        return {pair: ns - self.over_slo_ns.get(pair, 0) for pair, ns in self.ns.items()}


def scaled(sums: Mapping[Pair, int], ns: int) -> dict[Pair, int]:
    """Return the rows in which `ns` were parked, divided as the sums are.

    Not that of threads that had nothing to do: somebody else had the request then.
    """
    whole = sum(sums.values())
    parts = {pair: part * min(ns, whole) // whole for pair, part in sums.items() if part and pair[0] != WORK}
    return {pair: part for pair, part in parts.items() if part}
