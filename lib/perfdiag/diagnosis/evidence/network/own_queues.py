"""Queues of this host in which packets wait before they go out: shapers, and what drops or delays on purpose."""

from dataclasses import dataclass

from perfdiag.common.units import duration
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.facts.traffic_control import TEST_KIND, TrafficQueue
from perfdiag.model.model import Model
from perfdiag.recording import schema

_PROBE = "rtnetlink (tc -s qdisc)"
_SEGMENT_BYTES = 1448  # of a segment on Ethernet: TCP's own size of them is not recorded
_PREFIXES = ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k"))


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
        held = f", {self.queue.held_back:,} packets came too early" if self.queue.held_back else ""
        return Evidence(f"{self.words}{held}", 8.0 * self.queue.rate, "bit/s", _PROBE)

    @property
    def remedy(self) -> Remedy:
        """Return what ends it."""
        interface = plain(self.queue.interface)
        return fix(
            f"raise its rate, or remove it if nobody needs it (tc qdisc show dev {interface}; tc qdisc del dev"
            f" {interface} root): then nothing limits other traffic either"
        )


def shaper_of(model: Model, socket: schema.Socket) -> Shaper | None:
    """Return the shaper of this host that takes most of a round trip for what a connection has in flight: a queue
    elsewhere holds packets back as well, but not for the time that they take at the rate of this one."""
    for queue in sorted(model.facts.traffic_queues, key=lambda each: -(each.held_back or 0)):
        if not queue.rate or queue.held_back == 0:
            continue
        ns = socket.in_flight * _SEGMENT_BYTES * 1_000_000_000 // queue.rate
        if ns >= network_policy.shaped_round_trip_share * socket.rtt_us * 1000:
            return Shaper(queue)
    return None


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
        interface = plain(self.queue.interface)
        return fix(f"make the queue longer, or its rate higher, or remove it: tc -s qdisc show dev {interface}")


def dropping_here(model: Model, sent_again: int) -> Dropping | None:
    """Return the queue of this host that dropped most packets in the window, None where those are fewer than half of
    the segments that were sent again: then most were lost elsewhere."""
    queues = [Dropping(queue, queue.drops) for queue in model.facts.traffic_queues if queue.drops]
    most = max(queues, key=lambda each: each.drops, default=None)
    return most if most and 2 * most.drops >= sent_again else None


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


def bits(bytes_per_second: int) -> str:
    """Return a rate as networks tell it: "4.0 Mbit/s"."""
    rate = 8 * bytes_per_second
    for size, prefix in _PREFIXES:
        if rate >= size:
            return f"{rate / size:.3g} {prefix}bit/s"
    return f"{rate} bit/s"
