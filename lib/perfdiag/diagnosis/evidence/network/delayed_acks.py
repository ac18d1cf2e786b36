"""Exchanges whose length is that of a delayed acknowledgement."""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.peers import Connections, round_trip_ns
from perfdiag.diagnosis.evidence.requests.calls import by_peer
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import (
    fix,
    share_above,
    together,
    total_ns,
    typical_ns,
)
from perfdiag.model.model import Model, Row, once
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.recording.distribution import SMALLEST_BUCKET_NS, Distribution

ID, RECEIVE = "NET-DELAYED-ACK", "net.receive"
# Linux delays an acknowledgement by 40 ms, and up to a tick (10 ms) more.
DELAY_NS = (39_000_000, 51_000_000)
# While a wait lasts: what the kernel holds back is "notsent", what the other has not acknowledged "unacked".
TELLING = (
    "try TCP_NODELAY on the side that writes a message in several pieces, and look at ss -tin on both sides"
    " (notsent and unacked while the other waits: held back)"
)


@once
def calls_by_connection(model: Model) -> dict[str, Exchange]:
    """Return the calls of the recording by the connection that they were made on."""
    return by_peer(model, "connected")


def _sent_at_once(model: Model, rows: Sequence[Row]) -> bool:
    """Return whether the calls left this host at once, so that the peer is slow: it has no reason to hold back the
    first byte of an answer."""
    calls = [calls_by_connection(model).get(key) for key in {row.key for row in rows}]
    lines = [call.line for call in calls if call is not None and call.line.held_ns is not None]
    if len(lines) < len(calls) or not lines:
        return False
    sum_ns, held_ns = sum(line.sum_ns for line in lines), sum(line.held_ns or 0 for line in lines)
    return (
        sum_ns >= network_policy.delayed_ack_cluster_share * total_ns(rows)
        and held_ns < network_policy.held_by_host_share * sum_ns
    )


def looks_alike(model: Model, connections: Connections, rows: Sequence[Row]) -> bool:
    """Return whether waits for peers may be due to delayed acknowledgements: most last that long, and nothing rules it
    out. It is no proof: the kernel of a peer that works for 40 ms acknowledges late, too."""
    answers = [row for row in rows if row.account == RECEIVE]
    if _sent_at_once(model, answers):
        return False
    keys = {row.key for row in answers}
    sockets = [connections.sockets[key] for key in keys if key in connections.sockets]
    whole, way_ns = together(answers), round_trip_ns(sockets) or 0
    long = (
        DELAY_NS[0] <= typical_ns(whole) - way_ns < DELAY_NS[1]
        and _clustered(whole) >= network_policy.delayed_ack_cluster_share
    )
    if not long or 2 * whole.sum_ns < total_ns(rows) or (not sockets and model.measured("tcp")):
        return False
    seen = counted(model)
    if seen is None or 2 * seen >= whole.count:
        return True
    # This kernel did not delay them: another's may have.
    late = not sockets or any(
        each.in_flight and each.rtt_us * 1000 - way_ns >= network_policy.delayed_ack_ns for each in sockets
    )
    return late and not all(connections.near(key) for key in keys)


def lengths(rows: Sequence[Row]) -> str:
    """Return the range of the typical wait for an answer, "33.6 to 67.1 ms", as exactly as a histogram shows it."""
    low, high = (f"{edge / 1e6:.1f}" for edge in _bucket(together(row for row in rows if row.account == RECEIVE)))
    return f"{low} to {high} ms"


def without_delay(model: Model) -> str:
    """Return what is to be set so that the kernel holds no small write back, as the target's runtime calls it."""
    how = "TCP_NODELAY"
    if model.facts.java_machines:
        how += " (Java: Socket.setTcpNoDelay(true); a server's own setting, such as sun.net.httpserver.nodelay)"
    return how


def telling() -> Remedy:
    """Return how to tell a slow peer from delayed acknowledgements."""
    return fix(f"to tell a slow peer from delayed acknowledgements: {TELLING}")


def evidence_of(model: Model) -> list[Evidence]:
    """Return how many acknowledgements this kernel delayed, on any connection."""
    seen = counted(model)
    if seen is None:
        return []
    text = f"{seen:,} acknowledgements delayed by this kernel, on any connection"
    return [Evidence(text, float(seen), "count", "TcpExt.DelayedACKs")]


def _bucket(whole: Distribution) -> tuple[int, int]:
    high = SMALLEST_BUCKET_NS << (typical_ns(whole) // SMALLEST_BUCKET_NS).bit_length()
    return high // 2, high


def _clustered(whole: Distribution) -> float:
    """Return the share of the time that lies in the bucket of the typical wait."""
    low, high = _bucket(whole)
    return share_above(whole, low) - share_above(whole, high)


def counted(model: Model) -> int | None:
    """Return how many acknowledgements this kernel delayed, on any connection; None: not recorded."""
    return model.facts.network_delta("TcpExt.DelayedACKs")
