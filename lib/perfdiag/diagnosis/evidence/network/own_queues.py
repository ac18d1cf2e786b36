"""Queues of this host in which packets wait before they go out: shapers, and what drops or delays on purpose."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from perfdiag.common.units import duration
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.facts.traffic_control import REFUSING_KINDS, TEST_KIND, TrafficQueue
from perfdiag.model.model import Model
from perfdiag.recording import schema

_PROBE = "rtnetlink (tc -s qdisc)"
_SEGMENT_BYTES = 1448  # of a segment on Ethernet: TCP's own size of them is not recorded
_PREFIXES = ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k"))
_USUAL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of an interface: one of a container may be a command


@dataclass(frozen=True)
class Shaper:
    """What lets so little out that packets of a connection wait in it."""

    queue: TrafficQueue

    @property
    def words(self) -> str:
        """Return it in words: "tbf on eth0 lets 4.0 Mbit/s out"."""
        return f"{name_of(self.queue)} lets {bits(self.queue.rate)} out"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        held = f", {self.queue.held_back:,} packets over its rate (overlimits)" if self.queue.held_back else ""
        return Evidence(f"{self.words}{held}", 8.0 * self.queue.rate, "bit/s", _PROBE)

    @property
    def remedy(self) -> Remedy:
        """Return what ends it."""
        return fix(
            f"raise its rate (tc qdisc change), or remove it if nobody needs it (tc qdisc del); {_shown(self.queue)}"
        )


def shaper_of(model: Model, socket: schema.Socket) -> Shaper | None:
    """Return the shaper on a connection's way out that takes most of a round trip for what the connection has in
    flight; None where there is none, or several could be it.

    A queue elsewhere holds packets back as well, but not for the time that they take at the rate of this one.
    """
    found = [
        queue
        for queue in _on_the_way(model, [socket])
        if queue.rate
        and queue.held_back != 0
        and socket.in_flight * _SEGMENT_BYTES * 1_000_000_000 // queue.rate
        >= network_policy.shaped_round_trip_share * socket.rtt_us * 1000
    ]
    return Shaper(found[0]) if len(found) == 1 else None


def _on_the_way(model: Model, sockets: Collection[schema.Socket]) -> list[TrafficQueue]:
    """Return the queues of the interfaces that have the local addresses of connections."""
    own = {socket.local.rpartition(":")[0].strip("[]") for socket in sockets}
    return [queue for queue in model.facts.traffic_queues if own & queue.addresses]


@dataclass(frozen=True)
class Dropping:
    """What dropped packets in the window before they had left this host."""

    queue: TrafficQueue
    drops: int

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        return Evidence(
            f"{name_of(self.queue)} dropped {self.drops:,} packets here", float(self.drops), "count", _PROBE
        )

    @property
    def remedy(self) -> Remedy:
        """Return what ends it."""
        return fix(f"make the queue longer, or its rate higher (tc qdisc change); {_shown(self.queue)}")


def dropping_here(model: Model, sockets: Collection[schema.Socket], sent_again: int) -> Dropping | None:
    """Return the queue on the way of these connections that dropped about as many packets as they sent segments again:
    far fewer were lost elsewhere, and far more were mostly others'."""
    queues = [queue for queue in _on_the_way(model, sockets) if queue.kind not in REFUSING_KINDS]
    dropping = [Dropping(queue, queue.drops) for queue in queues if queue.drops]
    most = max(dropping, key=lambda each: each.drops, default=None)
    least, largest = sent_again * network_policy.own_drops_least, sent_again * network_policy.own_drops_most
    return most if most and least <= most.drops <= largest else None


def on_purpose(model: Model) -> str:
    """Return what makes the target's network worse on purpose, "" if nothing does."""
    for queue in model.facts.traffic_queues:
        if queue.kind == TEST_KIND:
            does = [f"delays each packet by {duration(queue.delay_ns)}"] if queue.delay_ns else []
            does += [f"lets {bits(queue.rate)} out"] if queue.rate else []
            does += [f"dropped {queue.drops:,} packets"] if queue.drops else []
            if does:
                return f"{name_of(queue)}, which is for tests, {', '.join(does)}"
    return ""


def name_of(queue: TrafficQueue) -> str:
    """Return "tbf on eth0"."""
    return f"{queue.kind} on {plain(queue.interface)}"


def _shown(queue: TrafficQueue) -> str:
    """Return the command that shows it, in its namespace; without a name that a shell could take for more."""
    device = f" dev {queue.interface}" if _USUAL_NAME.fullmatch(queue.interface) else ""
    return f"to see it: nsenter -t {queue.pid} -n tc -s qdisc show{device}"


def bits(bytes_per_second: int) -> str:
    """Return a rate as networks tell it: "4.0 Mbit/s"."""
    rate = 8 * bytes_per_second
    for size, prefix in _PREFIXES:
        if rate >= size:
            return f"{rate / size:.3g} {prefix}bit/s"
    return f"{rate} bit/s"
