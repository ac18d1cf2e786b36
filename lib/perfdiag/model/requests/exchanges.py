"""Requests and calls of a recording, by name or peer: how long each took."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from perfdiag.common.confidence import STANDARD_ERRORS
from perfdiag.common.text import printable
from perfdiag.model.waits.calls_for_work import WAITING_COMMANDS
from perfdiag.model.waits.unix_ends import maker_pid
from perfdiag.recording import schema
from perfdiag.recording.distribution import fine_edges_ns
from perfdiag.recording.packed_numbers import Counts

ASKED_INSIDE = 0.95  # of the requests of a place: some calls are lost, or begin before the window
_UNIX = "unix"


@dataclass(frozen=True, slots=True)
class Latencies:
    """A distribution with sixteen buckets for each doubling."""

    count: int = 0
    sum_ns: int = 0
    max_ns: int = 0
    buckets: Mapping[int, int] = field(default_factory=dict)
    error: int = 0  # of `count`, where it is an estimate: half of the range of 95 %

    def quantile_ns(self, q: float) -> int | None:
        """Return the quantile `q`, right to 3 % of it or half a microsecond; None of nothing."""
        total = sum(self.buckets.values())
        rank = q * total
        for index, number in sorted(self.buckets.items()):
            rank -= number
            if rank <= 0:
                low, high = fine_edges_ns(index)
                return min((low + high) // 2, self.max_ns)
        return self.max_ns if total else None

    def range_ns(self, q: float) -> tuple[int, int] | None:
        """Return between which two the quantile `q` of all lies in 95 of 100 cases, where these are of a sample of
        connections; None where they are all.

        Requests of one connection are alike, so what counts is of how many connections they are: as many as would make
        `error` that large if each had as many. (A part of them is left out, and at least a half: that is the 2.)
        """
        if not self.error or not self.count:
            return None
        connections = (STANDARD_ERRORS * self.count / self.error) ** 2 / 2
        off = STANDARD_ERRORS * math.sqrt(q * (1 - q) / connections)
        low = self.quantile_ns(max(0.0, q - off)) or 0
        return low, self.max_ns if q + off >= 1 else self.quantile_ns(q + off) or 0

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
            self.count + other.count,
            self.sum_ns + other.sum_ns,
            max(self.max_ns, other.max_ns),
            dict(buckets),
            round(math.hypot(self.error, other.error)),
        )


def together(latencies: Iterable[Latencies]) -> Latencies:
    """Return the distribution of all of them."""
    merged = Latencies()
    for each in latencies:
        merged = merged.merged(each)
    return merged


@dataclass(frozen=True, slots=True)
class Exchange:
    """Requests of one name on one port, or calls of one peer, with how long each took."""

    line: schema.Exchange
    object: str  # resolved for people, as that of a row: "port 8080", "db (4711)"
    whole: Latencies = Latencies()
    first_byte: Latencies = Latencies()
    read_delay: Latencies = Latencies()
    connect: Latencies = Latencies()
    internal: bool = False  # requests that nobody but the target itself asks

    @property
    def from_outside(self) -> bool:
        """Whether these are requests of others, whose time is felt: that of the target's own among its processes nobody
        feels, and that of requests that wait for work is no delay."""
        return self.asks and not self.internal

    @property
    def asks(self) -> bool:
        """Whether these are requests for an answer, and not to wait for work."""
        return self.served and self.line.name not in WAITING_COMMANDS

    @property
    def served(self) -> bool:
        """Whether these are requests that the target was asked."""
        return self.line.direction == "accepted"

    @property
    def waited_ns(self) -> int:
        """How long calls took that were answered, greetings, the rest of answers, those that were not while requests
        waited for them, and those of requests behind them."""
        line = self.line
        return line.sum_ns + line.greeting_ns + (line.rest_ns or 0) + (line.unanswered_ns or 0) + line.behind_ns

    @property
    def lasted_ns(self) -> int:
        """How long calls took, whoever waited, those without an answer until their connection ended."""
        return self.line.sum_ns + (self.line.unanswered_lasted_ns or 0)

    @property
    def typical_ns(self) -> int:
        """How long those calls took at least that half of that time lies in; without an answer, on average."""
        given_up_ns = self.line.unanswered_lasted_ns or 0
        if 2 * given_up_ns > self.lasted_ns:
            return given_up_ns // max(1, self.line.unanswered)
        return self.whole.typical_ns()

    @property
    def title(self) -> str:
        """What they are called behind "requests": "GET /a on port 8080", or "on port 8080"."""
        return f"{printable(self.line.name)} on {self.object}".lstrip()

    @property
    def median_ns(self) -> int | None:
        """How long the one in the middle took; None where no distribution was recorded."""
        return self.whole.quantile_ns(0.5)


def is_loopback(address: str) -> bool:
    """Return whether an address, as objects have it, is this host's itself."""
    return address.startswith(("127.", "[::ffff:127.")) or address == "[::1]"


def _own_port(object: str) -> str:
    """Return the port of this host that calls go to, "" if they go elsewhere."""
    address, _, port = object.removeprefix("peer:").rpartition(":")
    return port if is_loopback(address) else ""


def own_calls(exchanges: Iterable[Exchange]) -> tuple[list[Exchange], list[Exchange]]:
    """Return the calls that the target makes of itself, which are among the requests that it served, and the others."""
    found = list(exchanges)
    ports = {each.line.object.removeprefix("port:") for each in found if each.served}
    own: list[Exchange] = []
    others: list[Exchange] = []
    for each in found:
        if not each.served:
            (own if _own_port(each.line.object) in ports else others).append(each)
    return own, others


def calls_ns(calls: Iterable[Exchange]) -> int:
    """Return how long calls took, with the connects for them."""
    return sum(each.waited_ns + each.connect.sum_ns for each in calls)


def _asked_inside(lines: Iterable[schema.Exchange], pids: Collection[int]) -> set[str]:
    """Return the places where (nearly) all requests are the target's own calls, if others are asked elsewhere: who
    made a unix socket is known of calls, and where it lies of requests, so all of them are one place."""
    served: defaultdict[str, int] = defaultdict(int)
    own: defaultdict[str, int] = defaultdict(int)
    objects: defaultdict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.direction == "accepted":
            place = line.object if line.object.startswith("port:") else _UNIX
            served[place] += line.count
            objects[place].add(line.object)
        elif maker_pid(line.object) in pids:
            own[_UNIX] += line.count
        elif port := _own_port(line.object):
            own[f"port:{port}"] += line.count
    inside = {place for place, count in served.items() if count and own[place] >= ASKED_INSIDE * count}
    if not any(count for place, count in served.items() if place not in inside):
        return set()
    return {each for place in inside for each in objects[place]}


def exchanges_of(
    lines: Sequence[schema.Exchange],
    latencies: Iterable[schema.Latency],
    resolve: Callable[[str], str] = printable,
    pids: Collection[int] = (),
) -> list[Exchange]:
    """Return the exchanges of a recording, those that took most time first; `resolve` tells objects for people, and
    `pids` are the target's processes."""
    inside = _asked_inside(lines, pids)
    timed: defaultdict[tuple[str, str, str], dict[str, Latencies]] = defaultdict(dict)
    for each in latencies:
        timed[each.object, each.name, each.direction][each.measure] = Latencies(
            each.count, each.sum_ns, each.max_ns, Counts(each.buckets)
        )
    found = []
    for line in lines:
        of_line = timed[line.object, line.name, line.direction]
        if line.count:  # recordings of earlier versions may lack a distribution: it found no room
            of_line.setdefault("whole", Latencies(line.count, line.sum_ns))
        for measure in of_line if line.count_error else ():
            of_line[measure] = replace(of_line[measure], error=line.count_error)
        found.append(
            Exchange(
                line,
                resolve(line.object),
                internal=line.direction == "accepted" and line.object in inside,
                **{
                    measure: of_line[measure]
                    for measure in ("whole", "first_byte", "read_delay", "connect")
                    if measure in of_line
                },
            )
        )
    return sorted(found, key=lambda each: (-each.line.sum_ns, each.line.object, each.line.name))
