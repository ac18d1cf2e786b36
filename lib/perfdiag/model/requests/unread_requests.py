"""What requests meet that have arrived and are not read: what has findings of its own, or what its reader does."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.listening_for_answers import RECEIVE
from perfdiag.model.thread_accounts import AccountTotal
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, Kind, kind_of

RUNQ = ("runq.busy", "runq.waking", "runq.throttled", "cpu.stolen")
# Whoever would read is kept from it in these, whatever for.
KEPT_FROM = (*RUNQ, "wait.stopped")
# So long waits in these, on average or for each request, have findings of their own, which know that they are slow:
# whoever is in one holds up those behind, and that is where their time goes.
JUDGED = ("disk.", "nfs.", "net.", "ipc.", "remote.", "memory.", "lock.", "runtime.")
LONG_NS = 10_000_000
# A worker that waits for the next request on a connection that is kept alive serves nobody else meanwhile.
BOUND = "net.request"
# Who is in one of these takes up whatever it listens to.  A request that lies unread meanwhile is none of that.
LISTENS = ("wait.events", "net.accept", "wait.work", BOUND)


class Reader(NamedTuple):
    """In what those were who read requests late."""

    account: str  # its own, or that of the thread it waited for
    taken: bool  # by other requests
    behind: bool  # it waited for another thread that was in it
    parked: bool = False  # for that on a futex, with the request that it served


@dataclass(frozen=True)
class Met:
    """Parts, by account, of the time in which requests lie unread; what is not known is in neither."""

    passed_on: Mapping[str, float] = field(default_factory=dict)  # what has findings of its own
    others: Mapping[str, float] = field(default_factory=dict)  # what is the reader's own affair
    taken: float = 0.0  # of the others: while their reader was with other requests, or bound to other connections
    unheard: float = 0.0  # while their reader listened, and not to them
    behind: Mapping[str, float] = field(default_factory=dict)  # of the others: it waited for a thread that was in these
    elsewhere: Mapping[str, float] = field(default_factory=dict)  # the rest of the others: something of its own
    roots: Mapping[Reader, float] = field(default_factory=dict, compare=False)  # of the others, once more

    @property
    def unknown(self) -> float:
        """Return the part of which no line of time tells: it lies before its beginning, or was too short to be kept."""
        return max(0.0, 1 - sum(self.passed_on.values()) - sum(self.others.values()) - self.unheard)


class Part(NamedTuple):
    """A part of the time in which requests lie unread, by what their reader was in."""

    named: str  # the account, its own or its root's, that has findings of its own; "" where none has
    account: str  # its own
    root: str  # of the thread it waited for; its own where it waited for none
    served: bool  # it was with another request
    part: float
    left: bool = False  # of requests that nobody had read when the window ended


def is_awaited(line: schema.RequestLeft) -> bool:
    """Return whether what is left unread surely waits for its reader, who is kept from reading.

    Who is idle and does not read has chosen so: what came is no request to him, or he listens to others first.  Whose
    connection nobody accepts waits, whoever is idle.
    """
    if line.queued:
        return True
    kept = (each for each in line.parts if each.account in KEPT_FROM or kind_of(each.account) is not Kind.IDLE)
    kept_ns = sum(each.sum_ns for each in kept)
    return 2 * kept_ns >= line.sum_ns > 0


def has_finding(name: str, total: AccountTotal, requests: int = 0) -> bool:
    """Return whether time in an account, as long as waits in it are, has findings of its own.

    Many short waits for one of so many requests are as long as one.
    """
    pieces = min(total.count, requests) if requests else total.count
    is_judged = name.startswith(JUDGED) and kind_of(name) is not Kind.IDLE
    return name in KEPT_FROM or (is_judged and total.ns >= LONG_NS * max(1, pieces))


def parts_of(
    lines: Iterable[schema.RequestUnread],
    left: Sequence[schema.RequestLeft],
    exchanges: Sequence[Exchange],
    accounts: Mapping[str, AccountTotal],
) -> list[Part]:
    """Return what readers were recorded to be in.

    `accounts` are those of the target.  With an objective that some missed it is what those met.  Where a reader waited
    for another thread, that one's account counts if it has findings, else that of the wait.
    """
    served = [each.line for each in exchanges if each.served]
    slow = any(each.line.over_slo for each in exchanges if each.asks)
    whole_ns = sum(schema.unread_ns(line, over_slo=slow) for line in served)
    whole_ns += sum(line.sum_ns for line in left)
    requests = sum(line.count for line in served) + sum(line.count for line in left)
    if not whole_ns:
        return []
    known = {*KEPT_FROM} | {name for name, total in accounts.items() if has_finding(name, total, requests)}

    def part(line: schema.RequestUnread | schema.LeftPart, *, left: bool) -> Part:
        named = next((name for name in (line.root, line.account) if name in known), "")
        return Part(named, line.account, line.root, line.served, line.sum_ns / whole_ns, left)

    read = [part(line, left=False) for line in lines if line.over_slo or not slow]
    return read + [part(each, left=True) for line in left for each in line.parts]


def error_of(exchanges: Sequence[Exchange]) -> float:
    """Return which part of the time in which requests lay unread may be told of the wrong accounts."""
    served = [each.line for each in exchanges if each.served]
    slow = any(each.line.over_slo for each in exchanges if each.asks)
    delay_ns = sum(schema.unread_ns(line, over_slo=slow) for line in served)
    error_ns = sum((line.over_slo_unread_error_ns if slow else line.unread_error_ns) or 0 for line in served)
    return min(1.0, error_ns / delay_ns) if delay_ns else 0.0


def _listens(part: Part, listens: Collection[str]) -> bool:
    """Return whether the reader listened to something else: for an answer, if it was the reader that waited for it, not
    another thread behind which it was blocked."""
    return part.root in listens and (part.root != RECEIVE or part.account == RECEIVE)


def met_at_loops(parts: Sequence[Part], listens: Collection[str] = LISTENS) -> Met:
    """Return what requests met that waited for event loops, which listen also while requests are under way."""
    return _met((part, bool(part.named) and part.named not in listens, _listens(part, listens)) for part in parts)


def met_at_workers(parts: Sequence[Part], listens: Collection[str] = LISTENS) -> Met:
    """Return what requests met where a worker reads each.

    One more would have spared a request all that this one was in while it served others, but for what keeps any from
    reading.  More workers are of no use to what nobody reads, or to what those who `listens` leave unread.
    """

    def is_passed(part: Part) -> bool:
        others = bool(part.named) and part.named not in listens and (not part.served or part.left)
        return part.named in KEPT_FROM or others

    return _met((part, is_passed(part), not _is_taken(part) and _listens(part, listens)) for part in parts)


def _met(parts: Iterable[tuple[Part, bool, bool]]) -> Met:
    """Return the sums of parts, each with whether findings of its own have it, and whether its reader listened."""
    passed_on: defaultdict[str, float] = defaultdict(float)
    others: defaultdict[str, float] = defaultdict(float)
    behind: defaultdict[str, float] = defaultdict(float)
    elsewhere: defaultdict[str, float] = defaultdict(float)
    roots: defaultdict[Reader, float] = defaultdict(float)
    taken = unheard = 0.0
    for part, is_passed, listened in parts:
        if is_passed:
            passed_on[part.named] += part.part
        elif listened:
            unheard += part.part
        elif part.root != PARKED or _is_taken(part):
            others[part.account] += part.part
            roots[_reader(part)] += part.part
            if _is_taken(part):
                taken += part.part
            elif part.root != part.account:
                behind[part.root] += part.part
            else:
                elsewhere[part.account] += part.part
    return Met(dict(passed_on), dict(others), taken, unheard, dict(behind), dict(elsewhere), dict(roots))


def _reader(part: Part) -> Reader:
    behind = part.root != part.account
    return Reader(part.root, _is_taken(part), behind, behind and part.served and part.account == PARKED)


def _is_taken(part: Part) -> bool:
    return part.served or part.account == BOUND
