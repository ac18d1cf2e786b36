"""What a distribution must obey: a line counts what its buckets count, and its time and its longest lie where they do.

Which fields belong together their types and names in the schema say: `queue_buckets` are those of `queue_ns`, and plain
`buckets` of `sum_ns`, of which `max_ns` is the longest.  A new kind of line that keeps to that is covered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from perfdiag.common.units import duration
from perfdiag.recording import schema
from perfdiag.recording.distribution import edges_ns, fine_edges_ns
from perfdiag.recording.recording import Recording
from perfdiag.recording.schema.base import Buckets
from perfdiag.recording.schema.limits import RECORDER
from perfdiag.recording.schema.requests import FineBuckets

# The kernel goes on to count these while they are read, for others than the target: of a line that is copied at that
# moment one event is there in part, and if the copy is interrupted, those of up to 2 % of the window.  All others are
# read when nobody adds to them any more.
STILL_COUNTED = frozenset({schema.Device, schema.Rpc, schema.NfsServer})
STILL_COUNTED_SHARE = 0.02
RUNNING = frozenset({"cpu.user", "cpu.irq", "cpu.stolen"})  # nobody asks how long its slices were
ROUNDED_NS = 1000  # the longest of a detail is told in whole microseconds

Pairs = Sequence[tuple[int, int]]
Edges = Callable[[int], tuple[int, int]]
_BUCKETS: tuple[tuple[Any, Edges, int], ...] = (
    (Buckets, edges_ns, RECORDER["BUCKETS"]),
    (FineBuckets, fine_edges_ns, schema.LATENCY_BUCKETS),
)


@dataclass(frozen=True)
class Field:
    """One field of buckets of a kind of line."""

    buckets: str
    total: str
    lows_ns: Sequence[int]  # of each bucket
    highs_ns: Sequence[int]  # too long for it; the last one has none


def of_kind(kind: type[schema.Line]) -> list[Field]:
    """Return the distributions in a kind of line."""
    found = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for type_, edges, number in _BUCKETS:
            if hint == type_:
                lows, highs = zip(*map(edges, range(number)), strict=True)
                total = f"{name.removesuffix('buckets')}ns" if name != "buckets" else "sum_ns"
                found.append(Field(name, total, lows, highs[:-1]))
    return found


DISTRIBUTIONS: Mapping[type[schema.Line], Sequence[Field]] = {
    kind: found for kind in schema.AnyLine.__args__ if (found := of_kind(kind))
}


def find(recording: Recording) -> Iterator[str]:
    """Yield what is contradictory.  The rows of a script are made of its sums: they have no buckets."""
    for kind, distributions in DISTRIBUTIONS.items():
        made = kind is schema.Detail and bool(recording.header.accounts)
        ended = [(each, (*each.highs_ns, recording.last_at_ns)) for each in distributions]
        for line in recording.lines_of(kind):
            if made and not line.object and not line.buckets:
                continue
            for each, highs_ns in ended:
                yield from _of_line(line, each, highs_ns)


def _of_line(line: Any, of: Field, highs_ns: Sequence[int]) -> Iterator[str]:
    pairs, name = list(getattr(line, of.buckets)), str(line.__struct_config__.tag)
    if len(dict(pairs)) != len(pairs):
        yield f"{of.buckets} of a line {name!r} have a bucket twice"
    if not pairs and isinstance(line, schema.Detail) and line.account in RUNNING:
        return
    counted = _number(pairs)
    partly = max(1, int(counted * STILL_COUNTED_SHARE)) if type(line) in STILL_COUNTED else 0
    # Without the block layer's statistics a request is counted, and that is all.
    fewer = isinstance(line, schema.Device)
    if line.count < counted - partly or (line.count > counted + partly and not fewer):
        yield f"{of.buckets} of a line {name!r} hold {counted:,}, its count is {line.count:,}"
    total_ns = getattr(line, of.total)
    low_ns, high_ns = _bounds_ns(line, pairs, of, highs_ns)
    if not low_ns <= total_ns <= high_ns:
        bounds = f"{duration(max(0, low_ns))} to {duration(high_ns)}"
        yield f"{of.total} of a line {name!r} is {duration(total_ns)}, by its {of.buckets} {bounds}"
    longest_ns = _longest_ns(line, pairs, of)
    if line.max_ns + ROUNDED_NS <= longest_ns:
        yield f"max_ns of a line {name!r} is {duration(line.max_ns)}, by its {of.buckets} over {duration(longest_ns)}"


def _bounds_ns(line: Any, pairs: Pairs, of: Field, highs_ns: Sequence[int]) -> tuple[int, int]:
    """Return between what the time of all must be; what is in the last bucket has not begun before the machine."""
    low_ns = sum([of.lows_ns[index] * number for index, number in pairs])
    high_ns = sum([highs_ns[index] * number for index, number in pairs])
    if type(line) in STILL_COUNTED:  # one event more or less, as long as the longest
        longest_ns = max((highs_ns[index] for index, _ in pairs), default=line.max_ns)
        low_ns -= longest_ns + int(STILL_COUNTED_SHARE * low_ns)
        high_ns += longest_ns + int(STILL_COUNTED_SHARE * high_ns)
    return low_ns, high_ns


def _longest_ns(line: Any, pairs: Pairs, of: Field) -> int:
    """Return what `max_ns` is at least.

    Two CPUs can race to note the longest of several: then the longest but one stays.  Of a request to a device whose
    queue was not timed nor is the whole.
    """
    if isinstance(line, schema.Device) and _number(line.service_buckets) > _number(line.queue_buckets):
        return 0
    filled = sorted([pair for pair in pairs if pair[1]], reverse=True)
    alone = bool(filled) and filled[0][1] == 1 and (len(filled) > 1 or type(line) in STILL_COUNTED)
    return of.lows_ns[filled[alone][0]] if len(filled) > alone else 0


def _number(pairs: Pairs) -> int:
    return sum([number for _, number in pairs])
