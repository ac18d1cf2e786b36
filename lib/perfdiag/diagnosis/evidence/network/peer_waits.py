"""What is known of the waits for a peer: whether it was asked, too often, and whether it is slow."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.units import of_several
from perfdiag.diagnosis.evidence.network.connections import without_timeouts
from perfdiag.diagnosis.evidence.network.delayed_acks import looks_alike
from perfdiag.diagnosis.evidence.peers import Connections, Peer, peer_of, round_trip_ns
from perfdiag.diagnosis.evidence.questions import calls_to, may_acknowledge
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.significance import plain, together, typical_ns
from perfdiag.model.model import Model, Row
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution


@dataclass(frozen=True)
class PeerWaits:
    """The waits for one peer, or for several small ones together."""

    rows: list[Row]
    waits: Distribution  # of all rows
    peers: list[Peer]
    sockets: list[schema.Socket]
    round_trip_ns: int | None
    repeated: int  # segments sent again
    typical_ns: int  # without what segments sent again explain, which is no slowness of the peer's
    taken_ns: int  # the same
    like_delayed: bool  # acknowledgements that a kernel delays by 40 ms would look the same
    answers: int | None  # how many came; None: not known
    connects: int  # connections that were made to it
    given_up: int  # calls after which the target sent more, when a wait for their answer had ended by its timeout
    given_up_ns: int  # how long these calls had taken until then
    short: bool  # all that was asked was as short as an acknowledgement, and nobody asked the target meanwhile

    @property
    def name(self) -> str:
        """Return the peer, or how many there are."""
        if len(self.peers) == 1:
            return plain(str(self.peers[0]))
        return f"{len(self.peers)} peers" if self.peers else "unnamed peers"

    def agreeing(self, word: str) -> str:
        """Return a word as it goes with the name: "answers", of several peers "answer"."""
        return word if len(self.peers) == 1 else of_several(word)

    @property
    def few_or_long(self) -> bool:
        """Whether the waits are few or long, so that their number is not the cost."""
        few = self.waits.count < network_policy.waits_for_batching
        return few or self.typical_ns >= network_policy.long_answer_ns

    @property
    def receives(self) -> bool:
        """Whether the target only waits to receive from it."""
        return all(row.account == "net.receive" for row in self.rows)

    @property
    def silent(self) -> bool:
        """Whether nothing shows that the target asked: no call was under way when it began to wait."""
        return self.receives and not any(socket.in_flight for socket in self.sockets)

    @property
    def unasked(self) -> bool:
        """Whether it is known that the target wrote nothing between its waits."""
        unasked = [socket.waits_unasked or 0 for socket in self.sockets]
        count = self.waits.count
        # What came before the first wait on a connection is not known.
        return self.receives and count > 1 and sum(unasked) >= max(1, count - len({row.key for row in self.rows}))

    @property
    def one_way(self) -> bool:
        """Whether nothing came back though the target sent, as with logs and metrics."""
        return self.silent and self.answers == 0

    @property
    def perhaps_acknowledges(self) -> bool:
        """Whether what the target sends may be acknowledgements: a consumer acknowledges each message and waits for the
        next."""
        return self.receives and self.short

    @property
    def slow(self) -> bool:
        """Whether answers take longer than the round trip with its variation, and some work of the peer."""
        return self.is_late(self.typical_ns)

    @property
    def answer_ns(self) -> int:
        """Return how long answers take: as `typical_ns`, of all waits but those to send."""
        return typical_ns(together([row for row in self.rows if row.account != "net.send"]))

    @property
    def late_after_sending(self) -> bool:
        """Whether answers are late beside waits to send, by more than the round trip of the last piece, which is under
        way when the wait for the answer begins."""
        sends = any(row.account == "net.send" for row in self.rows)
        return sends and not self.repeated and self.is_late(self.answer_ns - (self.round_trip_ns or 0))

    def is_late(self, ns: int) -> bool:
        """Return whether an answer after that time is as late."""
        way_ns = self.round_trip_ns or 0
        return ns >= way_ns + max(network_policy.slow_answer_ns, network_policy.round_trip_variation_share * way_ns)

    @property
    def connects_anew(self) -> bool:
        """Whether it answers fast, and is asked a few times at most on each connection, so that a good part of the
        waits are round trips of making these."""
        many = not self.slow and self.connects >= network_policy.connections_anew
        few_calls = self.connects * network_policy.calls_of_connection >= (self.answers or 0) > 0
        return many and few_calls and self._connecting_is_felt

    @property
    def _connecting_is_felt(self) -> bool:
        """Whether making connections can take a good part of the waits; True if the round trip is unknown."""
        if self.round_trip_ns is None:
            return True
        connecting_ns = sum(row.distribution.sum_ns for row in self.rows if row.account == "net.connect")
        trips = network_policy.round_trips_of_connection - bool(connecting_ns)  # TCP's own are in these waits
        trips_ns = self.connects * trips * self.round_trip_ns
        return connecting_ns + trips_ns >= network_policy.connections_share * self.waits.sum_ns

    @property
    def beyond(self) -> float:
        """Return the time that a faster peer would save: all but the round trips of slow answers."""
        if not self.slow or not self.taken_ns:
            return 1.0
        return max(0.0, 1 - self.waits.count * (self.round_trip_ns or 0) / self.taken_ns)


def waits_for(model: Model, connections: Connections, rows: list[Row]) -> PeerWaits:
    """Return what is known of these waits."""
    keys = dict.fromkeys(row.key for row in rows)
    sockets = [connections.sockets[key] for key in keys if key in connections.sockets]
    repeated = sum(socket.retransmits_seen for socket in sockets)
    whole = together(rows)
    rest = without_timeouts(whole, repeated) if repeated >= network_policy.retransmits else whole
    peers = [peer for peer in map(peer_of, keys) if peer]
    like_delayed = looks_alike(model, connections, rows)
    calls = calls_to(model, keys)
    return PeerWaits(
        rows,
        whole,
        peers,
        sockets,
        round_trip_ns(sockets),
        repeated,
        typical_ns(rest),
        rest.sum_ns,
        like_delayed,
        _answers(calls, set(keys)),
        sum(line.connects for line in calls),
        sum(line.unawaited for line in calls),
        sum(line.unawaited_ns or 0 for line in calls),
        may_acknowledge(model, calls) and not any(line.object in keys for line in model.named_calls),
    )


def _answers(calls: Sequence[schema.Exchange], keys: set[str]) -> int | None:
    """Return how many answers came from the peers `keys`; None if that is unknown for one of them."""
    if {line.object for line in calls} != keys or any(line.unanswered for line in calls):
        return None
    return sum(line.count for line in calls)
