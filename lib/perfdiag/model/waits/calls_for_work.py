"""Calls that ask a peer for work, such as BLPOP of Redis: a worker that waits there is idle, and the peer not slow."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.recording import schema
from perfdiag.recording.distribution import SMALLEST_BUCKET_NS, Distribution, edges_ns, fine_edges_ns

# Commands of Redis that wait for an element, or for replicas, as long as their client said: that is what it asks for.
# https://redis.io/commands: those marked "blocking"
WAITING_COMMANDS = frozenset(
    [
        "BLMOVE",
        "BLMPOP",
        "BLPOP",
        "BRPOP",
        "BRPOPLPUSH",
        "BZMPOP",
        "BZPOPMAX",
        "BZPOPMIN",
        "WAIT",
        "WAITAOF",
        "XREAD",
        "XREADGROUP",
    ]
)
FROM_PEERS = ("net.receive", "ipc.unix")
_NEARLY_ALL = 0.95  # the rest is what a client says now and then to be known
_AS_LONG = 1.25


@dataclass(frozen=True)
class ForWork:
    """Which of the waits for one peer are for work."""

    part: float  # of their time
    by_length: Mapping[int, float]  # of their number, by the bucket of a Distribution

    def split(self, whole: Distribution) -> tuple[Distribution, Distribution]:
        """Return waits for that peer in two: those for work, and all others."""
        work = {
            bucket: round(number * self.by_length.get(bucket, self.part)) for bucket, number in whole.buckets.items()
        }
        rest = {bucket: number - work[bucket] for bucket, number in whole.buckets.items()}
        ns = round(whole.sum_ns * self.part)
        return _of(work, ns, whole), _of(rest, whole.sum_ns - ns, whole)


def calls_for_work(
    calls: Collection[schema.NamedCall],
    exchanges: Collection[schema.Exchange],
    waits: Iterable[schema.Detail],
) -> Mapping[str, ForWork]:
    """Return the peers that were asked for work, by object.

    Calls for requests do not count: nobody is idle in these.
    """
    all_ns = sums_by_key((line.object, line.sum_ns) for line in exchanges if line.direction == "connected")
    waited = groups_by_key((line.object, line) for line in waits if line.account in FROM_PEERS)
    found = {}
    for peer, lines in groups_by_key((line.object, line) for line in calls).items():
        work = [line for line in lines if line.name in WAITING_COMMANDS and not line.owned]
        if not work:
            continue
        ns, waited_ns = sum(line.sum_ns for line in work), sum(line.sum_ns for line in waited.get(peer, ()))
        longest_ns = max((line.max_ns for line in waited.get(peer, ())), default=0)
        # Of calls that began before the window, or end behind it, nothing tells the name.
        alike = 2 * ns >= waited_ns or longest_ns <= _AS_LONG * max(line.max_ns for line in work)
        part = ns / max(1, all_ns[peer], 0 if alike else waited_ns)
        numbers, whole = _numbers(work), _numbers(lines)
        by_length = {bucket: numbers[bucket] / whole[bucket] for bucket in whole}
        found[peer] = ForWork(1.0 if part >= _NEARLY_ALL else part, by_length)
    return found


def _numbers(lines: Collection[schema.NamedCall]) -> Counter[int]:
    """Return how many calls are how long, by the bucket of a Distribution."""
    return sums_by_key((_bucket(index), number) for line in lines for index, number in line.buckets)


def _bucket(fine: int) -> int:
    return (sum(fine_edges_ns(fine)) // 2 // SMALLEST_BUCKET_NS).bit_length()


def _of(buckets: Mapping[int, int], ns: int, whole: Distribution) -> Distribution:
    kept = {bucket: number for bucket, number in buckets.items() if number}
    longest_ns = min(whole.max_ns, edges_ns(max(kept, default=0))[1], ns)
    return Distribution(sum(kept.values()), ns, longest_ns, kept)
