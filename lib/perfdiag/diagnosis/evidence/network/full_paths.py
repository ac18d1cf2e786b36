"""Connections whose path loses segments, or queues them: what they hold back waits for the path."""

from collections.abc import Sequence

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.evidence.network.delayed_acks import DELAY_NS
from perfdiag.diagnosis.evidence.peers import connections_of, local_port, round_trip_ns
from perfdiag.diagnosis.policy import network_policy
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import HELD
from perfdiag.recording import schema


def queues(model: Model, socket: schema.Socket) -> bool:
    """Return whether packets queue on the path. On this host, a round trip is also long because the other end
    acknowledges late: only a longer one is a queue."""
    shortest_ns = round_trip_ns([socket])
    if shortest_ns is None or socket.rtt_us * 1000 < network_policy.queued_round_trip_factor * shortest_ns:
        return False
    return not connections_of(model).near(socket.object) or socket.rtt_us * 1000 >= DELAY_NS[1]


def loses(sockets: Sequence[schema.Socket]) -> bool:
    """Return whether connections sent segments again."""
    return sum(socket.retransmits_seen for socket in sockets) >= network_policy.retransmits


def holds_back(model: Model, exchange: Exchange) -> bool:
    """Return whether the path holds answers back: an acknowledgement comes late because data was lost, or queues."""
    sockets = _by_port(model).get(exchange.line.object, ())
    return loses(sockets) or _queue(model, sockets)


def held_ns(model: Model, *, lost: bool) -> int:
    """Return for how long requests' answers were held back here by paths that lose segments, or by those that queue."""
    held = [each for each in model.exchanges if each.served and each.line.held_ns]
    whole_ns = sum(each.line.held_ns or 0 for each in held)
    if model.request_time is None or not whole_ns:
        return 0
    sockets = [(each, _by_port(model).get(each.line.object, ())) for each in held]
    theirs = (each for each, of in sockets if (loses(of) if lost else _queue(model, of) and not loses(of)))
    return model.request_time.accounts.get(HELD, 0) * sum(each.line.held_ns or 0 for each in theirs) // whole_ns


def _queue(model: Model, sockets: Sequence[schema.Socket]) -> bool:
    """Return whether most of them do, for longer than an acknowledgement is delayed."""
    full = [socket for socket in sockets if queues(model, socket) and socket.rtt_us * 1000 >= DELAY_NS[1]]
    return 2 * len(full) > len(sockets)


@once
def _by_port(model: Model) -> dict[str, list[schema.Socket]]:
    """Return the connections by the port at this end, as exchanges name it."""
    return groups_by_key((f"port:{local_port(socket)}", socket) for socket in connections_of(model).sockets.values())
