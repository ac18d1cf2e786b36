"""Requests and calls of a recording: how long they took, and what the time of requests consists of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfdiag import schema
from perfdiag.accounts import Kind, kind_of
from perfdiag.excess import beyond_median
from perfdiag.requestsums import (
    ARRIVING,
    PARKED,
    PEERS,
    QUEUED,
    REST,
    Sums,
    accounts_of,
    added,
    known_ns,
    move,
    of_all,
    of_slow,
)
from perfdiag.text import printable

if TYPE_CHECKING:
    from perfdiag.loops import Servers
    from perfdiag.parked import Parked

# A process serves requests if half of its busy time is inside of them, or some are under way half of the time: not the
# batch job with a page of metrics.
SERVES = 0.5
# Of requests whose time is known by account less than this, the threads' own books say more.
ENOUGH_KNOWN = 0.9
ENOUGH_REQUESTS = 10
# Requests that mostly wait for news, by their own choice, would hide what all others wait for.
TOLERABLE_NEWS = 0.5
# Requests on shared connections are told apart by nobody.  A connection that is declined counts as one, however much it
# carries: where that is most of what the target does, the rest of its requests is no good part of its time.
TOLERABLE_SHARED = 0.05


@dataclass(frozen=True)
class Latencies:
    """A distribution with sixteen buckets for each doubling."""

    count: int = 0
    sum_ns: int = 0
    max_ns: int = 0
    buckets: Mapping[int, int] = field(default_factory=dict)

    def quantile_ns(self, q: float) -> int | None:
        """Return the quantile `q`, right to 3 % of it or half a microsecond; None of nothing."""
        total = sum(self.buckets.values())
        rank = q * total
        for index in sorted(self.buckets):
            rank -= self.buckets[index]
            if rank <= 0:
                low, high = fine_edges_ns(index)
                return min((low + high) // 2, self.max_ns)
        return self.max_ns if total else None

    def typical_ns(self) -> int:
        """Return how long those took at least that half of the time lies in: short ones by the thousand do not hide a
        few long ones; right to 3 %."""
        weights = {index: sum(fine_edges_ns(index)) * count for index, count in self.buckets.items()}
        rest = sum(weights.values()) / 2
        for index in sorted(weights):
            rest -= weights[index]
            if rest <= 0:
                return min(sum(fine_edges_ns(index)) // 2, self.max_ns)
        return self.max_ns

    def merged(self, other: Latencies) -> Latencies:
        """Return the distribution of both together."""
        buckets = defaultdict(int, self.buckets)
        for index, count in other.buckets.items():
            buckets[index] += count
        return Latencies(
            self.count + other.count, self.sum_ns + other.sum_ns, max(self.max_ns, other.max_ns), dict(buckets)
        )


def together(latencies: Iterable[Latencies]) -> Latencies:
    """Return the distribution of all of them."""
    merged = Latencies()
    for each in latencies:
        merged = merged.merged(each)
    return merged


def fine_edges_ns(index: int) -> tuple[int, int]:
    """Return the shortest duration in a bucket of `Latencies`, and the one that is too long for it."""
    unit, steps = schema.LATENCY_UNIT_NS, schema.LATENCY_STEPS
    if index < steps:
        return index * unit, (index + 1) * unit
    doublings, step = divmod(index - steps, steps)
    return (steps + step) * unit << doublings, (steps + step + 1) * unit << doublings


@dataclass(frozen=True)
class Exchange:
    """Requests of one name on one port, or calls of one peer, with how long each took."""

    line: schema.Exchange
    object: str  # resolved for people, as that of a row: "port 8080", "db (4711)"
    whole: Latencies = Latencies()
    first_byte: Latencies = Latencies()
    read_delay: Latencies = Latencies()
    connect: Latencies = Latencies()

    @property
    def served(self) -> bool:
        """Whether these are requests that the target was asked."""
        return self.line.direction == "accepted"

    @property
    def title(self) -> str:
        """What they are called behind "requests": "GET /a on port 8080", or "on port 8080"."""
        return f"{printable(self.line.name)} on {self.object}".lstrip()

    @property
    def median_ns(self) -> int | None:
        """How long the one in the middle took; None where no distribution was recorded."""
        return self.whole.quantile_ns(0.5)


@dataclass(frozen=True)
class RequestTime:
    """What the time of all requests together consists of.

    The accounts, and ARRIVING, PEERS, QUEUED and REST among them, add up to `ns`.
    """

    count: int
    ns: int
    accounts: Mapping[str, int]
    loop: bool = False  # event loops serve them, not workers
    excess: bool = False  # of those over the objective alone, what they took beyond the median of their name
    median_over: bool = False  # of a name the median itself is over it: of that name, all they took
    rows: Mapping[tuple[str, str], int] = field(default_factory=dict)  # parked in futexes, by account and key of `Row`
    parked_ns: Mapping[tuple[str, str], int] = field(default_factory=dict)  # the same of all requests, whatever ranks
    parked_tids: frozenset[int] = frozenset()  # threads that were parked there

    @property
    def uncertain_ns(self) -> int:
        """Return the time that could hide another cause."""
        return sum(self.accounts.get(name, 0) for name in (REST, "unexplained"))


def exchanges(
    lines: Iterable[schema.Exchange], latencies: Iterable[schema.Latency], resolve: Callable[[str], str] = printable
) -> list[Exchange]:
    """Return the exchanges of a recording, those that took most time first; `resolve` tells objects for people."""
    timed: defaultdict[tuple[str, str, str], dict[str, Latencies]] = defaultdict(dict)
    for each in latencies:
        timed[each.object, each.name, each.direction][each.measure] = Latencies(
            each.count, each.sum_ns, each.max_ns, dict(each.buckets)
        )
    found = []
    for line in lines:
        of_line = timed[line.object, line.name, line.direction]
        found.append(
            Exchange(
                line,
                resolve(line.object),
                **{
                    measure: of_line[measure]
                    for measure in ("whole", "first_byte", "read_delay", "connect")
                    if measure in of_line
                },
            )
        )
    return sorted(found, key=lambda each: (-each.line.sum_ns, each.line.object, each.line.name))


def request_time(
    exchanges: Sequence[Exchange],
    lost: Mapping[str, int],
    finer: Mapping[str, Mapping[str, int]],
    parked: Parked,
    by: Servers,
    busy_ns: int,
    window_ns: int,
) -> RequestTime | None:
    """Return what the requests' time consists of; None where too little of it is known to rank causes by it.

    `finer` says, of an account that the kernel side books and evidence divides afterwards, how the target's time in it
    was divided; `parked`, on which futexes requests waited.  Of the busy time, and the window, requests must be
    a good part.  With an objective that some missed it is the time of those, beyond the median of their name.
    """
    served = [each.line for each in exchanges if each.served]
    whole = added(map(of_all, served))
    early = sum(line.early for line in served)
    if whole.count < ENOUGH_REQUESTS or not whole.ns or known_ns(whole) < ENOUGH_KNOWN * whole.ns:
        return None
    if early + sum(line.declined for line in served) > TOLERABLE_SHARED * whole.count:
        return None
    if parked.outside_ns > TOLERABLE_NEWS * whole.ns:
        return None
    if lost.get("connections_full") or lost.get("exchanges_full"):
        return None
    all_rows = _rows(parked, whole)
    spent = [*whole.accounts.items(), *((account, ns) for (account, _), ns in all_rows.items())]
    inside_ns = sum(ns for account, ns in spent if kind_of(account) is Kind.LATENCY)
    if inside_ns < SERVES * busy_ns and whole.ns < SERVES * window_ns:
        return None
    missed = [each for each in exchanges if each.served and each.line.over_slo]
    if any(each.median_ns is None for each in missed):
        return None
    slow = _added_parts(_excess(each, parked) for each in missed)
    ranked = slow or accounts_of(whole, all_rows)
    rows = _of(ranked, _rows(parked, added(of_slow(each.line) for each in missed), over_slo=True)) if slow else all_rows
    accounts = _held_up(_divided(ranked, finer), by)
    return RequestTime(
        sum(each.line.over_slo for each in missed) if slow else whole.count,
        sum(accounts.values()),
        accounts,
        by.loop,
        bool(slow),
        any(map(_median_over, missed)),
        rows,
        all_rows,
        parked.tids,
    )


def beyond(median_over: bool) -> str:
    """Return what the excess is beyond, as a report says it."""
    return f"beyond the median of their name{' where that keeps the limit' if median_over else ''}"


def _rows(parked: Parked, of: Sums, *, over_slo: bool = False) -> dict[tuple[str, str], int]:
    return parked.rows(of.accounts.get(PARKED, 0), over_slo=over_slo)


def _of(accounts: Mapping[str, int], rows: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the rows as large as their accounts are."""
    whole: defaultdict[str, int] = defaultdict(int)
    for (account, _), ns in rows.items():
        whole[account] += ns
    parts = {pair: min(ns, accounts.get(pair[0], 0) * ns // whole[pair[0]]) for pair, ns in rows.items() if ns}
    return {pair: part for pair, part in parts.items() if part}


def _excess(missed: Exchange, parked: Parked) -> dict[str, int]:
    """Return what requests over the objective took beyond the median of their name: the tail has causes of its own.
    Where the median is over it itself, no request is as it should be: that is all they took."""
    slow = of_slow(missed.line)
    spent = accounts_of(slow, _rows(parked, slow, over_slo=True))
    if _median_over(missed):
        return spent
    rest = of_all(missed.line).less(slow)
    return beyond_median(spent, slow.ns, slow.count, accounts_of(rest, _rows(parked, rest)), missed.median_ns or 0)


def _median_over(missed: Exchange) -> bool:
    return 2 * missed.line.over_slo >= missed.line.count


def _added_parts(accounts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    added: defaultdict[str, int] = defaultdict(int)
    for each in accounts:
        for name, ns in each.items():
            added[name] += ns
    return dict(added)


def _held_up(accounts: dict[str, int], by: Servers) -> dict[str, int]:
    """Return the accounts with what a loop does to requests that it has read and not come to, and without what is
    nobody's turn: a thread that waits for a CPU holds up those behind it, too."""
    if by.loop:
        move(accounts, QUEUED, round(accounts.get(REST, 0) * by.busy), (REST,))
    queued = accounts.get(QUEUED, 0)
    for account, part in by.runq.items():
        move(accounts, account, round(queued * part), (QUEUED,))
    return {name: part for name, part in accounts.items() if part > 0}


def _divided(accounts: Mapping[str, int], finer: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    found: defaultdict[str, int] = defaultdict(int)
    for account, ns in accounts.items():
        parts = finer.get(account, {})
        whole, left = sum(parts.values()), ns
        for name, part in parts.items():
            share = ns * part // whole if whole else 0
            found[name] += share
            left -= share
        found[account] += left
    return {name: part for name, part in found.items() if part > 0}


__all__ = [
    "ARRIVING",
    "PEERS",
    "QUEUED",
    "REST",
    "Exchange",
    "Latencies",
    "RequestTime",
    "beyond",
    "exchanges",
    "fine_edges_ns",
    "request_time",
    "together",
]
