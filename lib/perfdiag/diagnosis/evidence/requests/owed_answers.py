"""Who may wait for an answer: clients of the target, or the target for its peers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.common.text import printable
from perfdiag.common.units import duration, first_of, plural
from perfdiag.diagnosis.evidence.network.datagrams import unanswered
from perfdiag.diagnosis.evidence.network.peers import connections_of, name_of
from perfdiag.diagnosis.evidence.network.unanswered_calls import SLOW_ANSWER_NS
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.recording import schema

SHOWN = 2


def owed(model: Model) -> list[str]:
    """Return sentences on clients that may wait for the target's answer, and on peers whose answer it may wait for."""
    told = (_still_open(model), _given_up(model), _silent(model), _timeless(model), _owed(model), *_unheard(model))
    return [each for each in told if each]


def came_by_datagram(model: Model) -> str:
    """Return the sentence on datagrams received and sent; "" if none came."""
    ports = [each.line for each in model.exchanges if each.line.direction == "datagram_port"]
    came, went = sum(line.untimed for line in ports), sum(line.unawaited for line in ports)
    return f"On {_places(ports)} it received {plural(came, 'datagram')} and sent {went:,}." if came else ""


def _still_open(model: Model) -> str:
    """Return that requests of this window wait for longer than any answered request took."""
    served = [each for each in model.exchanges if each.served and each.line.open]
    left = [each for each in served if _is_overdue(each, each.line.oldest_ns)]
    if not left:
        return ""
    longest_ns = max(each.line.oldest_ns for each in left)
    number = sum(each.line.open for each in left)
    have = "has" if number == 1 else "have"
    return (
        f"{plural(number, 'request')} on {_places(e.line for e in left)} {have} no answer after {duration(longest_ns)}."
    )


def _given_up(model: Model) -> str:
    """Return that connections ended after such a time."""
    served = [each for each in model.exchanges if each.served and each.line.unanswered]
    left = [each for each in served if _is_overdue(each, each.line.unanswered_longest_ns or 0)]
    if not left:
        return ""
    longest_ns = max(each.line.unanswered_longest_ns or 0 for each in left)
    number = sum(each.line.unanswered for each in left)
    had, its = ("has had", "its") if number == 1 else ("have had", "their")
    where = _places(each.line for each in left)
    ended = f"when {its} connection ended, {duration(longest_ns)} later"
    return f"{plural(number, 'request')} on {where} {had} no answer {ended}."


def _is_overdue(each: Exchange, waited_ns: int) -> bool:
    return waited_ns >= max(SLOW_ANSWER_NS, each.whole.max_ns)


def _silent(model: Model) -> str:
    """Return that clients may have waited since before the window."""
    lines = [line for line in model.silent if line.direction == "accepted" and line.oldest_ns]
    if not lines:
        return ""
    number, oldest_ns = sum(line.count for line in lines), max(line.oldest_ns for line in lines)
    has, its, holds = ("has", "its", "holds") if number == 1 else ("have", "their", "hold")
    return (
        f"{plural(number, 'connection')} on {_places(lines)} {has} been silent since {its} client spoke, for up to"
        f" {duration(oldest_ns)}. Perhaps {'it' if number == 1 else 'they'} {holds} an unanswered request; perhaps"
        " no answer was needed."
    )


def _timeless(model: Model) -> str:
    """Return that unix sockets do not show whether anybody waits."""
    lines = [line for line in model.silent if line.direction == "accepted" and not line.oldest_ns]
    if not lines:
        return ""
    number = sum(line.count for line in lines)
    return (
        f"Unix sockets do not show whether clients wait on {plural(number, 'silent connection')} at {_places(lines)}."
    )


def _owed(model: Model) -> str:
    """Return that peers may have owed answers since before the window."""
    own = connections_of(model).answered_here  # that is among what clients wait for
    lines = [line for line in model.silent if line.direction == "connected" and not own(line.object)]
    if not lines:
        return ""
    oldest_ns = max(line.oldest_ns for line in lines)
    peers = list(dict.fromkeys(name_of(line.object, line.object) for line in _oldest_first(lines)))
    has, owes = ("has", "it owes") if len(peers) == 1 else ("have", "they owe")
    who = f"{first_of(peers, SHOWN)} {has} said nothing since asked"
    return f"{who}, for up to {duration(oldest_ns)}: {owes} an answer, or needed to send none."


def _unheard(model: Model) -> list[str]:
    """Return that peers answer no request by UDP."""
    sent = unanswered(model)
    if not sent:
        return []
    has, number = "has" if len(sent) == 1 else "have", sum(sent.values())
    ask = "it asks" if number == 1 else "they ask"
    told = f"{first_of(list(sent), SHOWN)} {has} answered none of {plural(number, 'datagram')}, if {ask} for anything."
    return [told, came_by_datagram(model)]


def _oldest_first(lines: Sequence[schema.Silent]) -> list[schema.Silent]:
    return sorted(lines, key=lambda line: (-line.oldest_ns, line.object))


def _places(lines: Iterable[schema.Silent | schema.Exchange]) -> str:
    return first_of(list(dict.fromkeys(place(line.object) for line in lines)), SHOWN)


def place(object: str) -> str:
    """Return where requests come in, as it is shown."""
    return printable(object.replace("port:", "port ", 1))


__all__ = ["came_by_datagram", "owed", "place"]
