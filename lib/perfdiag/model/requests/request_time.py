"""What the time of the requests of a recording consists of, and which part of it is unknown."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.requests.accompanying_calls import accompanied_part, may_be_for_requests
from perfdiag.model.requests.awaited_processes import Roots, done_meanwhile, parts_of, passed_on
from perfdiag.model.requests.computing_beside import computed_part
from perfdiag.model.requests.exchanges import Exchange, calls_ns, own_calls
from perfdiag.model.requests.news import without_news
from perfdiag.model.requests.parked_time import Parked, scaled
from perfdiag.model.requests.request_sums import (
    ARRIVING,
    CORKED,
    HELD,
    PEERS,
    QUEUED,
    RESENT,
    REST,
    UNTAKEN,
    Sums,
    accounts_of,
    added,
    divided,
    move,
    of_all,
    of_slow,
)
from perfdiag.model.requests.serving_threads import Servers
from perfdiag.model.requests.slow_excess import beyond_median
from perfdiag.model.requests.unread_requests import Met, Reader
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, Kind, kind_of

# A process serves requests if half of its busy time, or of its CPU time, is inside of them (threads of its own may wait
# for each other all the time), or if together they last for a quarter of the window: not the batch job with a page of
# metrics.
SERVES = 0.5
LASTS = 0.25
CPU = "cpu.user"  # of a request all of its CPU time, before it is divided
# Fewer requests say something only if they last for a good part of the window.
ENOUGH_REQUESTS = 10
# Nothing tells whether they are requests, if so many may be none: what clients acknowledge looks the same.
TOLERABLE_UNSURE = 0.5


@dataclass(frozen=True)
class RequestTime:
    """What the time of all requests together consists of.

    The accounts, and ARRIVING, PEERS, QUEUED, UNTAKEN, HELD, CORKED, RESENT and REST among them, add up to `ns`.
    """

    count: int
    ns: int
    accounts: Mapping[str, int]
    by: Servers = field(default_factory=Servers)  # who serves them
    excess: bool = False  # of those over the objective alone, what they took beyond the median of their name
    median_over: bool = False  # of a name the median itself is over it: of that name, all they took
    rows: Mapping[tuple[str, str], int] = field(default_factory=dict)  # parked in futexes, by account and key of `Row`
    parked_ns: Mapping[tuple[str, str], int] = field(default_factory=dict)  # the same of all requests, whatever ranks
    parked_tids: frozenset[int] = frozenset()  # threads that were parked there
    queued: Mapping[Reader, int] = field(
        default_factory=dict
    )  # of QUEUED: by readers, in accounts as those of requests
    untold: float = 0.0  # the part of all requests that nobody tells apart, or that was lost
    handed_ns: int = 0  # of REST: of requests that went from thread to thread
    awaited: Mapping[str, int] = field(default_factory=dict)  # of the accounts: what processes did that were waited for
    accompanied: float = 0.0  # the part of what was REST that is in PEERS, because calls were outstanding meanwhile

    @property
    def met(self) -> Met:
        """Return what those met that lay unread."""
        return self.by.met

    @property
    def uncertain_ns(self) -> int:
        """Return the time that could hide another cause."""
        ns = sum(self.accounts.get(name, 0) for name in (REST, "unexplained")) + self._unread_ns
        return max(ns, round(self.untold * self.ns))  # those may be the same requests

    @property
    def _unread_ns(self) -> int:
        """Return for how long requests lay unread while nothing shows what their readers did."""
        queued_ns, left = self.accounts.get(QUEUED, 0), 1 - sum(self.met.passed_on.values())
        if not self.by.followed:
            return queued_ns
        return round(queued_ns * min(1.0, self.met.unknown / left)) if left > 0 else 0


def request_time(
    exchanges: Sequence[Exchange],
    lost: Mapping[str, int],
    finer: Mapping[str, Mapping[str, int]],
    parked: Parked,
    by: Servers,
    busy_ns: int,
    window_ns: int,
    left: Sequence[schema.RequestLeft] = (),
    awaited: Roots = MappingProxyType({}),
    inside: Sequence[schema.RequestsInside] = (),
) -> RequestTime | None:
    """Return what the requests' time consists of; None where they are too little of the busy time and the window.

    `finer` says how the target's time in an account was divided; `parked`, on which futexes requests waited; `left`,
    what nobody has read; `awaited`, what processes of the target did while requests waited for them; `inside`, what
    went along with them.  If some missed an objective, it is the time of these, beyond the median.
    """
    exchanges = without_news(exchanges, parked)
    served, missed = [each.line for each in exchanges if each.asks], [each for each in exchanges if _missed(each)]
    whole = added(map(of_all, served))
    left_count, left_ns = sum(line.count for line in left), sum(line.sum_ns for line in left)
    all_rows, behind = _rows(whole, parked.ns), parts_of(awaited, whole.accounts)
    spent, known = accounts_of(whole, all_rows), passed_on(whole.accounts, behind)
    accompanied, computed = _in_other_hands(exchanges, inside, finer, spent, known, window_ns)
    mostly = _mostly(known, all_rows, busy_ns, sum(finer.get(CPU, {}).values()))
    serves = _serves(whole.count + left_count, whole.ns + left_ns, mostly, window_ns) and not unsure(served)
    if not serves or any(each.median_ns is None for each in missed):
        return None
    slow = _added_parts(_excess(each, parked) for each in missed)
    told = added(of_slow(each.line) for each in missed) if slow else whole
    rows = _of(slow, _rows(told, parked.over_slo_ns)) if slow else all_rows
    ranked = _divided_rest(slow or _of_others(spent, exchanges), left_ns, accompanied, computed)
    accounts = _held_up(_divided(passed_on(ranked, behind), finer), by)
    return RequestTime(
        told.count + left_count,
        sum(accounts.values()),
        accounts,
        by,
        bool(slow),
        any(map(_median_over, missed)),
        rows,
        all_rows,
        parked.tids,
        _queued(accounts.get(QUEUED, 0), by.met, divided(told), finer),
        _untold(served, lost),
        min(accounts.get(REST, 0), told.ns - told.whole_ns),
        _divided(done_meanwhile(ranked, behind), finer),
        accompanied,
    )


def _missed(exchange: Exchange) -> bool:
    return exchange.asks and exchange.line.over_slo > 0


def _accompanied(exchanges: Sequence[Exchange], inside: Sequence[schema.RequestsInside], rest_ns: int) -> float:
    """Return which part of the rest is a wait for peers; who asks itself is none of its own."""
    theirs = not own_calls(exchanges)[0] and may_be_for_requests(exchanges)
    return accompanied_part(inside, rest_ns) if theirs else 0.0


def _in_other_hands(
    exchanges: Sequence[Exchange],
    inside: Sequence[schema.RequestsInside],
    finer: Mapping[str, Mapping[str, int]],
    spent: Mapping[str, int],
    known: dict[str, int],
    window_ns: int,
) -> tuple[float, float]:
    """Return which part of the rest calls accompany, and which part of what that leaves is CPU time of other threads
    than the requests' readers.  That is added to what is `known`, where the CPU time of processes that requests wait
    for stands already."""
    accompanied = _accompanied(exchanges, inside, spent.get(REST, 0))
    cpu_ns, of_readers_ns = sum(finer.get(CPU, {}).get(name, 0) for name in (CPU, "cpu.kernel")), spent.get(CPU, 0)
    left_ns, known_ns = round(spent.get(REST, 0) * (1 - accompanied)), known.get(CPU, 0)
    part = computed_part(inside, cpu_ns, of_readers_ns, known_ns - of_readers_ns, left_ns, window_ns)
    known[CPU] = known_ns + round(left_ns * part)
    return accompanied, part


def _divided_rest(accounts: Mapping[str, int], unread_ns: int, accompanied: float, computed: float) -> dict[str, int]:
    """Return the accounts with these parts of the rest as waits for peers and CPU time, and what nobody has read."""
    accounts = {**accounts, QUEUED: accounts.get(QUEUED, 0) + unread_ns}
    move(accounts, PEERS, round(accounts.get(REST, 0) * accompanied), (REST,))
    move(accounts, CPU, round(accounts.get(REST, 0) * computed), (REST,))
    return accounts


def _serves(count: int, ns: int, mostly: float, window_ns: int) -> bool:
    """Return whether so many requests are what the target does: with most of its busy time, or CPU time, inside of
    them, or lasting together for a good part of the window."""
    return ns > 0 and ((count >= ENOUGH_REQUESTS and mostly >= SERVES) or ns >= LASTS * window_ns)


def _mostly(accounts: Mapping[str, int], rows: Mapping[tuple[str, str], int], busy_ns: int, cpu_ns: int) -> float:
    """Return which part of the busy time, or of the CPU time if that is more, is in these accounts of requests. The CPU
    time of processes that they wait for stands in the busy time twice: the wait for it is there, too."""
    return max(_part(_inside_ns(accounts, rows), busy_ns), _part(accounts.get(CPU, 0), cpu_ns))


def _part(ns: int, whole_ns: int) -> float:
    return ns / whole_ns if whole_ns else 0.0


def _of_others(accounts: dict[str, int], exchanges: Sequence[Exchange]) -> dict[str, int]:
    """Return the accounts with waiting for peers as far as it is for others: what the target asks itself are requests
    as well, and their accounts stand there."""
    own, others = own_calls(exchanges)
    own_ns, peers_ns = calls_ns(own), accounts.get(PEERS, 0)
    return {**accounts, PEERS: round(peers_ns * (1 - own_ns / (own_ns + calls_ns(others)))) if own_ns else peers_ns}


def unsure(lines: Iterable[schema.Exchange], *, slow: bool = False) -> bool:
    """Return whether most messages, or most of those over the objective, may have been no requests, or several at once:
    news and its acknowledgement are the same two messages in the other order.  Where nothing was answered, nothing
    counts."""
    answered = [line for line in lines if line.count]
    untimed = [0 if line.wants_answers else line.untimed for line in answered]  # of HTTP: answers that go on
    counts = [(line.unsure + other, line.count + other) for line, other in zip(answered, untimed, strict=True)]
    if slow:
        counts = [(line.over_slo_unsure, line.over_slo) for line in answered]
    return sum(part for part, _ in counts) > TOLERABLE_UNSURE * sum(whole for _, whole in counts)


def beyond(median_over: bool) -> str:
    """Return what the excess is beyond, as a report says it."""
    return f"beyond the median of their name{' (all of it where even the median is over)' if median_over else ''}"


def _rows(of: Sums, parked_ns: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    return scaled(parked_ns, of.accounts.get(PARKED, 0))


def _of(accounts: Mapping[str, int], rows: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return the rows as large as their accounts are."""
    whole = sums_by_key((account, ns) for (account, _), ns in rows.items())
    parts = {pair: min(ns, accounts.get(pair[0], 0) * ns // whole[pair[0]]) for pair, ns in rows.items() if ns}
    return {pair: part for pair, part in parts.items() if part}


def _excess(missed: Exchange, parked: Parked) -> dict[str, int]:
    """Return what requests over the objective took beyond the median of their name: the tail has causes of its own.
    Where the median is over it itself, no request is as it should be: that is all they took."""
    slow = of_slow(missed.line)
    spent = accounts_of(slow, _rows(slow, parked.over_slo_ns))
    if _median_over(missed):
        return spent
    rest = of_all(missed.line).less(slow)
    others = accounts_of(rest, _rows(rest, parked.kept_ns))
    return beyond_median(spent, slow.ns, slow.count, others, missed.median_ns or 0)


def _median_over(missed: Exchange) -> bool:
    return 2 * missed.line.over_slo >= missed.line.count


def _added_parts(accounts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return sums_by_key((name, ns) for each in accounts for name, ns in each.items())


def _held_up(accounts: dict[str, int], by: Servers) -> dict[str, int]:
    """Return the accounts with what a loop does to requests that it has read and not come to, and without what is
    nobody's turn: a thread that waits for a CPU holds up those behind it, too, as does a loop that waits for a disk."""
    if by.loop:
        move(accounts, QUEUED, round(accounts.get(REST, 0) * by.busy), (REST,))
    queued = accounts.get(QUEUED, 0)
    for account, part in by.met.passed_on.items():
        move(accounts, account, round(queued * part), (QUEUED,))
    return {name: part for name, part in accounts.items() if part > 0}


def _inside_ns(accounts: Mapping[str, int], rows: Mapping[tuple[str, str], int]) -> int:
    """Return how long requests were inside the target."""
    spent = [*accounts.items(), *((account, ns) for (account, _), ns in rows.items())]
    return sum(ns for account, ns in spent if kind_of(account) is Kind.LATENCY)


def _untold(served: Sequence[schema.Exchange], lost: Mapping[str, int]) -> float:
    """Return which part of the requests nobody tells apart, as on shared connections, or was lost.

    A connection that is declined or lost counts as one request, however much it carries.
    """
    lost_count = sum(lost.get(name, 0) for name in ("connections_full", "exchanges_full"))
    count = sum(line.count for line in served) + sum(line.declined for line in served) + lost_count
    untold = sum(line.early + line.declined for line in served) + lost_count
    return min(1.0, untold / count) if count else 0.0


def _queued(
    ns: int, met: Met, inside: Mapping[str, Mapping[str, float]], finer: Mapping[str, Mapping[str, int]]
) -> dict[Reader, int]:
    """Return in what those were for how long who let requests wait, in accounts as these of requests are: who was with
    one, in a wait that is its client's, held up the others by that client."""
    left = 1 - sum(met.passed_on.values())
    found: dict[Reader, int] = defaultdict(int)
    for reader, part in met.roots.items() if left > 0 else ():
        root_ns = round(ns * min(1.0, part / left))
        accounts = {reader.account: root_ns}
        for into, share in (inside.get(reader.account, {}) if reader.taken else {}).items():
            move(accounts, into, round(root_ns * share), (reader.account,))
        for account, account_ns in _divided(accounts, finer).items():
            found[reader._replace(account=account)] += account_ns
    return dict(found)


def _divided(accounts: Mapping[str, int], finer: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return accounts with those of the kernel side divided as the target's are: what a request had of several of them
    until it was answered stands in the first."""
    found = dict(accounts)
    for account, parts in finer.items():
        whole, left = sum(parts.values()), sum(found.pop(name, 0) for name in {account, *parts})
        shares = {name: left * part // whole for name, part in parts.items()} if whole else {}
        found |= shares
        found[account] = found.get(account, 0) + left - sum(shares.values())
    return {name: part for name, part in found.items() if part > 0}


__all__ = [
    "ARRIVING",
    "CORKED",
    "ENOUGH_REQUESTS",
    "HELD",
    "PEERS",
    "QUEUED",
    "RESENT",
    "REST",
    "SERVES",
    "UNTAKEN",
    "RequestTime",
    "beyond",
    "request_time",
    "unsure",
]
