"""Calls whose plain text names what they ask a peer for; those that took most time in all first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.model.requests.exchanges import Exchange, Latencies
from perfdiag.recording import schema


@dataclass(frozen=True, slots=True)
class NamedCall:
    """All calls of one name to one peer, for requests of one name."""

    line: schema.NamedCall
    requests: int  # that were answered and have that name; 0: none is known to make such calls

    @property
    def latency(self) -> Latencies:
        """How long they took, until the first byte of the answer."""
        line = self.line
        return Latencies(count=line.count, sum_ns=line.sum_ns, max_ns=line.max_ns, buckets=dict(line.buckets))

    @property
    def times(self) -> float:
        """How often a request of that name makes such a call, on average; 0: none is known to."""
        return self.line.owned / self.requests if self.requests else 0.0


def named_calls(lines: Sequence[schema.NamedCall], exchanges: Iterable[Exchange]) -> list[NamedCall]:
    """Return the calls of a recording that have names; `exchanges`: its requests."""
    served: Counter[str] = Counter()
    for each in exchanges:
        if each.served:
            served[each.line.name] += each.line.count
    ordered = sorted(lines, key=lambda line: (-line.sum_ns, line.object, line.name, line.request))
    return [NamedCall(line, served[line.request] if line.owned else 0) for line in ordered]
