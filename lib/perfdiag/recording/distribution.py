"""Histograms of durations: log2 buckets, as the recorder counts them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perfdiag.recording import schema

SMALLEST_BUCKET_NS = 256
SURE_FACTOR = 1.1  # between the bounds of a mean that is said to be known


@dataclass(frozen=True, slots=True)
class Distribution:
    """A log2 histogram of durations (buckets as in `schema.Detail`): bounded relative error, at most a factor 2."""

    count: int
    sum_ns: int
    max_ns: int
    buckets: Mapping[int, int] = field(default_factory=dict)

    def quantile_ns(self, q: float) -> int | None:
        """Return the q-quantile (0 <= q <= 1), at most `max_ns`; None if empty.

        Inside its bucket it is the mean of that bucket where the exact sum leaves no doubt of it (waits of one length
        come out as that length), else interpolated.
        """
        total = sum(self.buckets.values())
        if not total:
            return None
        rank = q * total
        for index, number in sorted(self.buckets.items()):
            rank -= number
            if rank <= 0:
                low, high = edges_ns(index)
                part = 1 + rank / number
                inside = self._mean_ns(index) or low + (high - low) * part
                return min(int(inside), self.max_ns)
        return self.max_ns

    def _mean_ns(self, index: int) -> float | None:
        """Return the mean of the waits in one bucket, None where the others leave more than a tenth of doubt."""
        shortest_sum_ns = longest_sum_ns = self.sum_ns
        for other, number in self.buckets.items():
            if other != index:
                low, high = edges_ns(other)
                shortest_sum_ns, longest_sum_ns = shortest_sum_ns - number * high, longest_sum_ns - number * low
        low, high = edges_ns(index)
        least = max(shortest_sum_ns / self.buckets[index], low)
        most = min(longest_sum_ns / self.buckets[index], high)
        return (least + most) / 2 if 0 < least <= most <= SURE_FACTOR * least else None

    def merged(self, other: Distribution) -> Distribution:
        """Return the distribution of both together."""
        return merged((self, other))


def merged(several: Iterable[Distribution]) -> Distribution:
    """Return the distribution of all of them together; their buckets are added up once, not once for each."""
    several = tuple(several)
    if len(several) == 1:
        return several[0]
    count = sum_ns = max_ns = 0
    buckets: defaultdict[int, int] = defaultdict(int)
    for each in several:
        count, sum_ns, max_ns = count + each.count, sum_ns + each.sum_ns, max(max_ns, each.max_ns)
        for index, number in each.buckets.items():
            buckets[index] += number
    return Distribution(count, sum_ns, max_ns, dict(buckets))


def edges_ns(index: int) -> tuple[int, int]:
    """Return the shortest duration in a bucket, and the one that is too long for it."""
    return (SMALLEST_BUCKET_NS << (index - 1) if index else 0), SMALLEST_BUCKET_NS << index


def fine_edges_ns(index: int) -> tuple[int, int]:
    """Return the shortest duration in a bucket of `Latencies`, and the one that is too long for it."""
    unit, steps = schema.LATENCY_UNIT_NS, schema.LATENCY_STEPS
    if index < steps:
        return index * unit, (index + 1) * unit
    doublings, step = divmod(index - steps, steps)
    return (steps + step) * unit << doublings, (steps + step + 1) * unit << doublings
