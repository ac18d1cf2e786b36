"""Who may wait for an answer: clients of the target, or the target for its peers."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from perfdiag.common.units import duration, first_of, plural
from perfdiag.diagnosis.evidence.network.datagrams import unanswered
from perfdiag.diagnosis.evidence.peers import connections_of, name_of
from perfdiag.diagnosis.evidence.requests.places import places
from perfdiag.diagnosis.evidence.requests.untimed_requests import came_by_datagram
from perfdiag.diagnosis.policy import network_policy
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange

SHOWN = 2


def owed(model: Model) -> list[str]:
    """Return sentences on clients that may wait for the target's answer, and on peers whose answer it may wait for."""
    return [*_requests(model), *_clients(model), *_peers(model)]


def _requests(model: Model) -> Iterator[str]:
    """Yield that requests wait for longer than any answered request took, or that their connections ended so."""
    served = [each for each in model.exchanges if each.served]
    longest: defaultdict[str, int] = defaultdict(int)
    for each in served:
        longest[each.line.object] = max(longest[each.line.object], each.whole.max_ns)
    if left := [each for each in served if each.line.open and _is_overdue(longest, each, each.line.oldest_ns)]:
        number, longest_ns = sum(each.line.open for each in left), max(each.line.oldest_ns for each in left)
        where = places(each.line for each in left)
        yield f"{plural(number, 'request')} on {where} {_have(number)} no answer after {duration(longest_ns)}."
    ended = [(each, each.line.unanswered_longest_ns or 0) for each in served if each.line.unanswered]
    if overdue := [(each, ns) for each, ns in ended if _is_overdue(longest, each, ns)]:
        number = sum(each.line.unanswered for each, _ in overdue)
        who = f"{plural(number, 'request')} on {places(each.line for each, _ in overdue)} {_have(number)} had no answer"
        its = "its" if number == 1 else "their"
        yield f"{who} when {its} connection ended, {duration(max(ns for _, ns in overdue))} later."


def _is_overdue(longest_ns: Mapping[str, int], each: Exchange, waited_ns: int) -> bool:
    """Return whether no answered one took so long; without a name yet it can be any of its port, and still arrive.
    `longest_ns`: how long the longest answered one took, by port."""
    alike_ns = each.whole.max_ns if each.line.name else longest_ns[each.line.object]
    return waited_ns >= max(network_policy.slow_answer_ns, alike_ns)


def _clients(model: Model) -> Iterator[str]:
    """Yield that clients may have waited since before the window; unix sockets do not show for how long."""
    accepted = [line for line in model.silent if line.direction == "accepted"]
    if lines := [line for line in accepted if line.oldest_ns]:
        number, oldest_ns = sum(line.count for line in lines), max(line.oldest_ns for line in lines)
        its, they, hold = ("its", "it", "holds") if number == 1 else ("their", "they", "hold")
        who = f"{plural(number, 'connection')} on {places(lines)} {_have(number)} been silent since {its} client spoke"
        perhaps = f"Perhaps {they} {hold} an unanswered request; perhaps no answer was needed."
        yield f"{who}, for up to {duration(oldest_ns)}. {perhaps}"
    if lines := [line for line in accepted if not line.oldest_ns]:
        many = plural(sum(line.count for line in lines), "silent connection")
        yield f"Unix sockets do not show whether clients wait on {many} at {places(lines)}."


def _peers(model: Model) -> Iterator[str]:
    """Yield that peers may have owed answers since before the window, or answered no datagram."""
    own = connections_of(model).answered_here  # that is among what clients wait for
    lines = [line for line in model.silent if line.direction == "connected" and not own(line.object)]
    if lines:
        lines.sort(key=lambda line: (-line.oldest_ns, line.object))
        peers = list(dict.fromkeys(name_of(line.object, line.object) for line in lines))
        owe = "it owes" if len(peers) == 1 else "they owe"
        who = f"{first_of(peers, SHOWN)} {_have(len(peers))} said nothing since asked"
        yield f"{who}, for up to {duration(lines[0].oldest_ns)}: {owe} an answer, or needed to send none."
    if sent := unanswered(model):
        number = sum(sent.values())
        where, needs = first_of(list(sent), SHOWN), "it needs" if number == 1 else "they need"
        yield f"{plural(number, 'datagram')} to {where} got no answer; perhaps {needs} none."
        yield from filter(None, [came_by_datagram(model)])


def _have(number: int) -> str:
    return "has" if number == 1 else "have"
