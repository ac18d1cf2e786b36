"""Requests and calls of a recording: how long they took, and what the time of requests consists of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perfdiag import schema
from perfdiag.accounts import Kind, kind_of

if TYPE_CHECKING:
    from perfdiag.loops import Servers

# What a request's time holds beside accounts of the thread that serves it.
PEERS = "request.peers"  # calls made for it are not answered
ARRIVING = "request.arriving"  # its first byte has been read, its last has not come
QUEUED = "request.queued"  # it has arrived, and who serves is with others
REST = "request.rest"  # what nothing here tells of: in other hands, or a wait that no socket shows

WAITS_FOR_PEERS = ("net.connect", "net.receive", "ipc.unix")

# A process serves requests if half of its busy time is inside of them, or some are under way half of the time: not the
# batch job with a page of metrics.
SERVES = 0.5
# Of requests whose time is known by account less than this, the threads' own books say more.
ENOUGH_KNOWN = 0.9
ENOUGH_REQUESTS = 10
# Of what is parked in futexes, nothing proves a lock: of that the threads' books, with who woke whom, say more.
PARKED, TOLERABLE_PARKED = "wait.parked", 0.5
TOLERABLE_EARLY = 0.05  # of requests on shared connections, told apart by nobody


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
    whole: Latencies = Latencies()
    first_byte: Latencies = Latencies()
    read_delay: Latencies = Latencies()
    connect: Latencies = Latencies()

    @property
    def served(self) -> bool:
        """Whether these are requests that the target was asked."""
        return self.line.direction == "accepted"


@dataclass(frozen=True)
class RequestTime:
    """What the time of all requests together consists of.

    The accounts, and ARRIVING, PEERS, QUEUED and REST among them, add up to `ns`.
    """

    count: int
    ns: int
    accounts: Mapping[str, int]
    loop: bool = False  # event loops serve them, not workers
    excess: bool = False  # of those over the objective alone, what they took beyond the others of their name

    @property
    def uncertain_ns(self) -> int:
        """Return the time that could hide another cause."""
        return sum(self.accounts.get(name, 0) for name in (REST, "unexplained", PARKED))


def exchanges(lines: Iterable[schema.Exchange], latencies: Iterable[schema.Latency]) -> list[Exchange]:
    """Return the exchanges of a recording, those that took most time first."""
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
    by: Servers,
    busy_ns: int,
    window_ns: int,
) -> RequestTime | None:
    """Return what the requests' time consists of; None where too little of it is known to rank causes by it.

    `finer` says, of an account that the kernel side books and evidence divides afterwards, how the target's time in it
    was divided.  Of the target's busy time, and the window, requests must be a good part.  With an objective that some
    missed it is the time of those, beyond what the others took.
    """
    served = [each.line for each in exchanges if each.served]
    whole = _added(map(_all, served))
    early = sum(line.early for line in served)
    if whole.count < ENOUGH_REQUESTS or not whole.ns or _known_ns(whole) < ENOUGH_KNOWN * whole.ns:
        return None
    if early > TOLERABLE_EARLY * whole.count or any(line.declined for line in served):
        return None
    if lost.get("connections_full") or lost.get("exchanges_full"):
        return None
    inside_ns = sum(ns for account, ns in whole.accounts.items() if kind_of(account) is Kind.LATENCY)
    if inside_ns < SERVES * busy_ns and whole.ns < SERVES * window_ns:
        return None
    slow = _added(map(_excess, served))
    ranked = slow if slow.count else whole
    accounts = _held_up(_divided(_accounts(ranked), finer), by)
    known = RequestTime(round(ranked.count), sum(accounts.values()), accounts, by.loop, bool(slow.count))
    return known if known.accounts.get(PARKED, 0) <= TOLERABLE_PARKED * known.ns else None


@dataclass(frozen=True)
class _Sums:
    """What is summed of requests: all of a name, or those over the objective."""

    count: float = 0
    ns: float = 0
    whole_ns: float = 0
    read_delay_ns: float = 0
    arriving_ns: float = 0
    peers_ns: float = 0
    accounts: Mapping[str, float] = field(default_factory=dict)

    def plus(self, other: _Sums, times: float = 1) -> _Sums:
        """Return both together, the other one so many times; nothing falls below zero."""
        names = self.accounts.keys() | other.accounts.keys()
        return _Sums(
            max(0, self.count + times * other.count),
            max(0, self.ns + times * other.ns),
            max(0, self.whole_ns + times * other.whole_ns),
            max(0, self.read_delay_ns + times * other.read_delay_ns),
            max(0, self.arriving_ns + times * other.arriving_ns),
            max(0, self.peers_ns + times * other.peers_ns),
            {name: max(0, self.accounts.get(name, 0) + times * other.accounts.get(name, 0)) for name in names},
        )


def _known_ns(of: _Sums) -> float:
    """Return the time whose account is known: all that one thread served, and of the others, as Go's goroutines are,
    the calls that were made for them, beyond what the former can have made."""
    waited_ns = sum(of.accounts.get(name, 0) for name in (*WAITS_FOR_PEERS, "wait.events"))
    return of.whole_ns + max(0, min(of.peers_ns - waited_ns, of.ns - of.whole_ns))


def _all(line: schema.Exchange) -> _Sums:
    accounts = {part.account: part.sum_ns for part in line.accounts}
    return _Sums(line.count, line.sum_ns, line.whole_ns, line.read_delay_ns, line.arriving_ns, line.peers_ns, accounts)


def _slow(line: schema.Exchange) -> _Sums:
    return _Sums(
        line.over_slo,
        line.over_slo_ns,
        line.over_slo_whole_ns,
        line.over_slo_read_delay_ns,
        line.over_slo_arriving_ns,
        line.over_slo_peers_ns,
        {part.account: part.sum_ns for part in line.over_slo_accounts},
    )


def _excess(line: schema.Exchange) -> _Sums:
    """Return what requests over the objective took beyond as many others of their name: the tail has causes of its
    own.  Where all are over it, that is all they took."""
    slow = _slow(line)
    others = _all(line).plus(slow, -1)
    if not slow.count or not others.count:
        return slow
    beyond = slow.plus(others, -slow.count / others.count)
    return replace(beyond, count=slow.count)


def _added(sums: Iterable[_Sums]) -> _Sums:
    added = _Sums()
    for each in sums:
        added = added.plus(each)
    return added


def _accounts(of: _Sums) -> dict[str, int]:
    """Return where requests spent their time.

    A thread that waits for the rest of a request, or for a peer, does so in an account of its own; one that waits for
    events does it in the place of all its requests, and meanwhile turns to others.  Such time is the client's, or the
    peers', as far as the request was still arriving, or calls for it were under way.
    """
    accounts: defaultdict[str, int] = defaultdict(int, {name: round(ns) for name, ns in of.accounts.items()})
    accounts[QUEUED] = round(min(of.read_delay_ns, of.ns))
    accounts[REST] = max(0, round(of.ns) - sum(accounts.values()))
    _move(accounts, ARRIVING, round(of.arriving_ns), ("net.receive", "ipc.unix", "wait.events", REST))
    waited_ns = sum(accounts[name] for name in WAITS_FOR_PEERS)  # by the thread
    _move(accounts, PEERS, round(of.peers_ns) - waited_ns, ("wait.events", REST))
    return {name: part for name, part in accounts.items() if part > 0}


def _move(accounts: dict[str, int], into: str, ns: int, sources: Iterable[str]) -> None:
    """Book up to `ns` of what stands in `sources`, one after the other, to another account."""
    for source in sources:
        part = max(0, min(ns, accounts.get(source, 0)))
        accounts[source] = accounts.get(source, 0) - part
        accounts[into] = accounts.get(into, 0) + part
        ns -= part


def _held_up(accounts: dict[str, int], by: Servers) -> dict[str, int]:
    """Return the accounts with what a loop does to requests that it has read and not come to, and without what is
    nobody's turn: a thread that waits for a CPU holds up those behind it, too."""
    if by.loop:
        _move(accounts, QUEUED, round(accounts.get(REST, 0) * by.busy), (REST,))
    queued = accounts.get(QUEUED, 0)
    for account, part in by.runq.items():
        _move(accounts, account, round(queued * part), (QUEUED,))
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
    "exchanges",
    "fine_edges_ns",
    "request_time",
    "together",
]
