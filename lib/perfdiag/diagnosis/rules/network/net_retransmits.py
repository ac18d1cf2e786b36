"""A rule on segments that were lost and sent again."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.network.connections import ENOUGH_RETRANSMITS, Cause, named, outcomes, without_timeouts
from perfdiag.diagnosis.evidence.network.peers import round_trip_ns
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import brief, duration, fault, fix, judged, percent, plain, together, waits
from perfdiag.model.model import Model, Row
from perfdiag.recording import schema

# A connect that is repeated waits for an answer, which NET-PEER-SLOW says: nothing need have been lost.
NET = ("net.receive", "net.send")


@rule(
    "NET-RETRANSMITS",
    title="Segments are lost and sent again",
    accounts=NET,
    meaning="Packets from the target to a peer got lost and were sent again. Each timeout costs 200 ms or more, each"
    " quick repetition a round trip; the thread waits for the answer all that time.",
    measured="Joins retransmissions seen in the window (tracepoint tcp_retransmit_skb) with the waits on the same"
    " connection: as many waits of 134 ms or more as there were retransmissions, and a round trip for each. The host's"
    " own counters of the window are evidence beside it.",
    alternatives="A peer that is merely slow and whose connection lost some packets too; loss towards the target, which"
    " only the peer can see.",
    remedies="Find where packets are dropped: interface errors, a full queue, a bad cable, a rate limit, wrong MTU.",
    verify="nstat -az TcpRetransSegs TcpOutSegs TcpExtTCPTimeouts, twice.",
    beats=(
        "NET-PEER-SLOW",
        "NET-CONGESTION",
        "NET-CHATTY",
        "NET-DELAYED-ACK",
        "NET-DNS-SLOW",
        "NET-RECEIVER-WINDOW",
        "NET-SELF-SLOW",
    ),
)
def retransmits(model: Model) -> Iterable[Outcome]:
    """Join retransmissions of a connection with its long waits."""
    return outcomes(model, "NET-RETRANSMITS", NET, _retransmitted_ns, _retransmits_finding, "retransmissions")


def _retransmitted_ns(rows: list[Row], socket: schema.Socket) -> int:
    seen = socket.retransmits_seen
    if seen < ENOUGH_RETRANSMITS:
        return 0
    whole = together(rows)
    timeouts = whole.sum_ns - without_timeouts(whole, seen).sum_ns
    return min(whole.sum_ns, timeouts + seen * (round_trip_ns([socket]) or 0))


def _retransmits_finding(model: Model, causes: list[Cause]) -> Finding:
    # A connection has rows of several accounts: its retransmissions count once.
    sockets = {socket.object: socket for _, _, socket, _ in causes}
    seen = sum(socket.retransmits_seen for socket in sockets.values())
    taken_ns = sum(cause[3] for cause in causes)
    whole = together([row for cause in causes for row in cause[1]])
    evidence = [
        Evidence(f"{seen:,} segments sent again to {named(causes)}", float(seen), "count", "tcp_retransmit_skb"),
        waits(whole, "waits on these connections"),
    ]
    tcp = model.facts.tcp
    if tcp and tcp.retransmitted_segments is not None and tcp.segments_out:
        part = tcp.retransmitted_segments / tcp.segments_out
        evidence.append(
            Evidence(
                f"{tcp.retransmitted_segments:,} of {tcp.segments_out:,} segments of the whole host sent again"
                f" ({percent(part)})",
                part,
                "share",
                "/proc/net/snmp",
            )
        )
    dropped = [
        f"{plain(interface.name)} {name} {interface.counters[name]:,}"
        for interface in model.facts.interfaces
        for name in ("tx_dropped", "tx_errors", "rx_errors", "rx_dropped")
        if interface.counters.get(name)
    ]
    if dropped:
        evidence.append(
            Evidence(
                "interfaces of this host: " + ", ".join(dropped[:4]), float(len(dropped)), "count", "/sys/class/net"
            )
        )
    confidence, limits = judged(
        model, Confidence.HIGH, ["which waits the lost packets made longer is inferred from their length"]
    )
    return Finding(
        "NET-RETRANSMITS",
        fault(model, taken_ns),
        confidence,
        f"Packets to {named(causes)} are lost: {seen:,} segments were sent again, which explains up to"
        f" {duration(taken_ns)} of waiting.",
        {claim: ns for claim, _, _, ns in causes},
        evidence,
        [
            fix(
                "find where packets are dropped: ip -s link on this host, the switch port, rate limits, the peer; ping"
                " with full-sized packets (ping -M do -s 1472 PEER) shows a wrong MTU"
            )
        ],
        alternatives=["a peer that is slow besides", f"loss towards {subject(model)}, which only the peer can count"],
        limits=limits,
        verify="nstat -az TcpRetransSegs TcpOutSegs, twice: under one in a thousand",
        headline=f"Packets to {brief(named(causes))} are lost",
        mechanism=Mechanism.FAILED,
    )


__all__ = ["retransmits"]
