"""Connections that take long to establish, as opposed to slow peers."""

from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.evidence.peers import connections_of, name_of, peer_of
from perfdiag.diagnosis.evidence.requests.calls import (
    by_peer,
    felt,
    longer_ns,
)
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.significance import (
    share_above,
    together,
    typical_ns,
)
from perfdiag.model.model import Model, Row, once
from perfdiag.model.requests.exchanges import Exchange

ID, CONNECT = "NET-CONNECT-SLOW", "net.connect"


@dataclass(frozen=True)
class Connects:
    """Connections to one peer: the waits for them, and all that were counted."""

    key: str
    rows: list[Row]
    call: Exchange | None
    way_ns: int | None  # the round trip

    @property
    def name(self) -> str:
        """Return the name of the peer for a report."""
        of_call = self.call.object if self.call else self.key
        return name_of(self.key, self.rows[0].object if self.rows else of_call)

    @property
    def limit_ns(self) -> int:
        """Return the time from which a connect is slow: the kernel answers at once, however busy its programs are.

        If the round trip is unknown, only a repeated SYN proves a slow connect. A peer that no connect reached has no
        round trip: a program that gave up after its own timeout waited in vain, however short that timeout
        is.
        """
        if self.way_ns is None:
            return network_policy.slow_answer_ns if self.none_succeeded else network_policy.retried_connect_ns
        return self.way_ns + max(network_policy.slow_answer_ns, self.way_ns // 2)

    @property
    def none_succeeded(self) -> bool:
        """Whether connects failed again and again, and not one succeeded."""
        line = self.call.line if self.call else None
        return line is not None and not line.connects and line.connects_failed >= network_policy.failed_connects

    @property
    def waited_ns(self) -> int:
        """Return how long threads waited for slow connects."""
        whole = together(self.rows)
        if not self.rows or typical_ns(whole) < self.limit_ns:
            return 0
        return max(0, whole.sum_ns - whole.count * (self.way_ns or 0))

    @property
    def took_ns(self) -> int:
        """Return how long slow connects took, even if no thread waited."""
        return longer_ns(self.call.connect, self.limit_ns) if self.call else 0

    @property
    def unanswered(self) -> int:
        """Return how many SYNs got no answer."""
        return self.call.line.retries + self.call.line.connecting if self.call else 0

    @property
    def retried(self) -> bool:
        """Whether most of the time is due to repeated SYNs."""
        if self.rows or self.call is None:
            return share_above(together(self.rows), network_policy.retried_connect_ns) >= 0.5
        return 2 * longer_ns(self.call.connect, network_policy.retried_connect_ns) >= self.took_ns > 0


@once
def connects_of(model: Model) -> list[Connects]:
    """Return the connects by peer, those that took most first."""
    rows = groups_by_key((row.key, row) for row in model.rows_of(CONNECT))
    calls = by_peer(model, "connected")
    way_ns = connections_of(model).way_ns
    timed = [key for key, call in calls.items() if call.connect.count and key not in rows]
    found = [Connects(key, rows.get(key, []), calls.get(key), way_ns(key)) for key in [*rows, *timed]]
    return sorted(found, key=lambda each: (-max(each.waited_ns, each.took_ns), each.key))


@once
def told_apart(model: Model) -> frozenset[str]:
    """Return the peers for which NET-CONNECT-SLOW explains slow connects, so that no other rule does."""
    return frozenset(each.key for each in connects_of(model) if felt(model, each.waited_ns, 0))


def answered_by_ipv4(model: Model, failed: Connects) -> Connects | None:
    """Return the peer of IPv4 to whose same port connects succeed, where none does by IPv6: names resolve to both, and
    programs try IPv6 first."""
    peer, line = peer_of(failed.key), failed.call.line if failed.call else None
    if peer is None or line is None or not _is_ipv6(failed) or peer.local or line.connects or not failed.unanswered:
        return None
    connected = [each for each in connects_of(model) if each.call and each.call.line.connects]
    if any(map(_is_ipv6, connected)):
        return None  # this host has a way out
    same_port = (each for each in connected if (beside := peer_of(each.key)) and beside.port == peer.port)
    return next(same_port, None)


def _is_ipv6(connects: Connects) -> bool:
    peer = peer_of(connects.key)
    return peer is not None and ":" in peer.address
