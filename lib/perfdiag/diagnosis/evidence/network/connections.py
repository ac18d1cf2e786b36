"""What rules on TCP share: waits joined with their connection, and how much of them a cause explains."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from perfdiag.diagnosis.evidence.peers import connections_of, name_of
from perfdiag.diagnosis.rule import Finding, Outcome, Silence
from perfdiag.diagnosis.significance import by_key, little, midpoint_ns, total_ns, worth
from perfdiag.model.model import Model, Row
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution

# The kernel waits at least 200 ms before it sends again without a hint from the peer: waits from 134 ms on (this
# bucket's edge) can hold such a timeout, shorter ones cannot.
TIMEOUT_BUCKET = 20

# (account, key), its rows, the connection, nanoseconds explained
Cause = tuple[tuple[str, str], list[Row], schema.Socket, int]


def _with_sockets(
    model: Model, accounts: tuple[str, ...]
) -> Iterator[tuple[tuple[str, str], list[Row], schema.Socket]]:
    """Yield (account, key), rows and TCP socket of every wait on a known connection."""
    sockets = connections_of(model).sockets
    known = (row for row in model.rows_of(*accounts) if row.key in sockets)
    for claim, rows in by_key(known).items():
        yield claim, rows, sockets[claim[1]]


def outcomes(
    model: Model,
    id: str,
    accounts: tuple[str, ...],
    explained: Callable[[list[Row], schema.Socket], int],
    finding: Callable[[Model, list[Cause]], Finding],
    what: str,
) -> Iterable[Outcome]:
    """Yield one finding for all connections on which `explained` finds that the cause took time, or a check, or a
    silence."""
    whole_ns = model.ns(*accounts)
    if not model.measured("tcp") or (worth(model, whole_ns) and not model.sockets):
        if worth(model, whole_ns):
            yield Silence(id, "no TCP connection was examined", "see perfdiag check, feature tcp")
        return
    causes = [(claim, rows, socket, explained(rows, socket)) for claim, rows, socket in _with_sockets(model, accounts)]
    causes = sorted((cause for cause in causes if cause[3] > 0), key=lambda cause: -cause[3])
    taken_ns = sum(cause[3] for cause in causes)
    if worth(model, taken_ns):
        yield finding(model, causes)
    else:
        yield little(model, id, what, taken_ns)


def held_ns(rows: Sequence[Row], socket: schema.Socket, waits_of_cause: int) -> int:
    """Return the part of waits in send during which a cause held the connection."""
    asked = socket.waits_congestion + socket.waits_receiver + socket.waits_buffer
    return round(total_ns(rows) * waits_of_cause / asked) if asked else 0


def without_timeouts(distribution: Distribution, retransmits: int) -> Distribution:
    """Return a distribution without its longest waits that can be timeouts, as many as segments were sent again.

    Sums are scaled by the middles of the buckets, as in `significance.share_above`.
    """
    left, buckets = retransmits, dict(distribution.buckets)
    for bucket in sorted(buckets, reverse=True):
        taken = min(left, buckets[bucket]) if bucket >= TIMEOUT_BUCKET else 0
        left -= taken
        buckets[bucket] -= taken
    buckets = {bucket: count for bucket, count in buckets.items() if count}
    whole = sum(count * midpoint_ns(bucket) for bucket, count in distribution.buckets.items())
    rest = sum(count * midpoint_ns(bucket) for bucket, count in buckets.items())
    sum_ns = round(distribution.sum_ns * rest / whole) if whole else distribution.sum_ns
    longest = 2 * midpoint_ns(max(buckets)) if buckets else 0
    return Distribution(sum(buckets.values()), sum_ns, min(distribution.max_ns, round(longest)), buckets)


def named(causes: list[Cause]) -> str:
    """Return the names of the peers of `causes`, the one that took most first."""
    first = name_of(causes[0][0][1], causes[0][1][0].object)
    others = len({cause[0][1] for cause in causes}) - 1
    return first if not others else f"{first} and {others} other peer{'s' * (others > 1)}"
