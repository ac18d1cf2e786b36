"""A rule on senders that the congestion window of the path holds back."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.network.connections import ENOUGH_RETRANSMITS, Cause, held_ns, named, outcomes
from perfdiag.diagnosis.evidence.network.peers import connections_of, round_trip_ns
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import attempt, brief, duration, fault, fix, judged, together, waits
from perfdiag.model.model import Model
from perfdiag.recording import schema

# A round trip of twice the shortest one means that packets queue on the way: not to a peer on this host, where there is
# no way.  There the round trip is that of two programs taking turns on the CPUs, the shortest one a few microseconds.
QUEUED = 2.0
# Twice the window every connection begins with: below it a connection is held by its start, not by the path.
SMALL_WINDOW = 20


@rule(
    "NET-CONGESTION",
    title="The path to the peer carries no more",
    accounts=("net.send",),
    meaning="Threads wait in send because the congestion window is used up: the path is full, it loses packets, or the"
    " connection has just begun or been idle and starts slowly. Without loss or queueing it is the path's own capacity,"
    " which is profile.",
    measured="At each wait in send the connection was asked what held it; the part of the waits held by the congestion"
    " window (or by the own buffer, while packets queue on the way), times the time waited on that"
    " connection. The norm is the shortest round trip: twice of it, or retransmissions, show a fault of the path."
    " Nothing queues on the way to a peer on this host: there only retransmissions do.",
    alternatives="Loss that has nothing to do with a full path (radio, bad cable); a short burst after an idle time.",
    remedies="Send less, more evenly, or over another path; keep the window after idle times.",
    verify="ss -ti on this host: cwnd, rtt against minrtt, of the connection.",
    beats=(
        "NET-PEER-SLOW",
        "NET-SELF-SLOW",
    ),
)
def congestion(model: Model) -> Iterable[Outcome]:
    """Join waits in send with what held the connection: the congestion window."""
    return outcomes(
        model,
        "NET-CONGESTION",
        ("net.send",),
        lambda rows, socket: held_ns(
            rows, socket, socket.waits_congestion + (socket.waits_buffer if _queued(model, socket) else 0)
        ),
        _congestion_finding,
        "congestion",
    )


def _queued(model: Model, socket: schema.Socket) -> bool:
    """Whether packets queue on the way; then the own buffer is full because of the path, whatever was full first."""
    shortest_ns = round_trip_ns([socket])
    longer = shortest_ns is not None and socket.rtt_us * 1000 >= QUEUED * shortest_ns
    return longer and not connections_of(model).near(socket.object)


def _congestion_finding(model: Model, causes: list[Cause]) -> Finding:
    socket = causes[0][2]
    taken_ns = sum(cause[3] for cause in causes)
    shortest_us = (round_trip_ns([socket]) or 0) / 1000
    queued = _queued(model, socket)
    evidence = [
        waits(together([row for cause in causes for row in cause[1]]), "waits in send"),
        Evidence(
            f"congestion window {socket.congestion_window:,} segments, {socket.in_flight:,} in flight",
            float(socket.congestion_window),
            "count",
            "tcp_sock",
        ),
        Evidence(
            f"round trip {duration(socket.rtt_us * 1000)}, shortest {duration(shortest_us * 1000)}",
            float(socket.rtt_us * 1000),
            "ns",
            "tcp_sock",
        ),
        Evidence(
            f"{socket.retransmits_seen:,} segments sent again",
            float(socket.retransmits_seen),
            "count",
            "tcp_retransmit_skb",
        ),
    ]
    lost = any(cause[2].retransmits_seen >= ENOUGH_RETRANSMITS for cause in causes)
    why = "packets queue on the way" if queued else "packets are lost" if lost else "this is what the path carries"
    confidence, limits = judged(
        model, Confidence.HIGH, ["" if model.measured("tcp") else "retransmissions were not measured"]
    )
    return Finding(
        "NET-CONGESTION",
        fault(model, taken_ns) if queued or lost else Severity.INFO,
        confidence,
        f"The path to {named(causes)} holds {subject(model)} up for {duration(taken_ns)} in send: {why}.",
        {claim: ns for claim, _, _, ns in causes},
        evidence,
        _congestion_remedies(model, socket),
        alternatives=["loss that has nothing to do with a full path", "a slow start after an idle time"],
        limits=limits,
        verify="ss -ti: cwnd grows, rtt stays near minrtt",
        headline=f"The path to {brief(named(causes))} holds data up: {why}",
        mechanism=Mechanism.FAILED if lost and not queued else Mechanism.BUSY if queued else Mechanism.OTHERS,
    )


def _congestion_remedies(model: Model, socket: schema.Socket) -> list[Remedy]:
    remedies = [fix("send less or more evenly, compress, or take another path; look for who else fills it")]
    slow_start = "net.ipv4.tcp_slow_start_after_idle"
    if socket.congestion_window <= SMALL_WINDOW and model.facts.sysctl(slow_start.replace(".", "/")) == "1":
        remedies.insert(0, attempt(f"sysctl -w {slow_start}=0", f"sysctl -w {slow_start}=1", f"{slow_start} = 1"))
    return remedies


__all__ = ["congestion"]
