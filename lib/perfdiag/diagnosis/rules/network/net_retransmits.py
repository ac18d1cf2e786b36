"""NET-RETRANSMITS: segments are lost and sent again."""

from collections.abc import Iterable, Mapping
from functools import partial

from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.network.connections import Cause, named, outcomes, without_timeouts
from perfdiag.diagnosis.evidence.network.dropped_packets import dropped_by_peer, dropped_here
from perfdiag.diagnosis.evidence.network.full_paths import held_ns
from perfdiag.diagnosis.evidence.network.own_queues import dropping_here, name_of
from perfdiag.diagnosis.evidence.network.resent_answers import FIND_DROPS, resent_answers
from perfdiag.diagnosis.evidence.network.unanswered_calls import are_dead
from perfdiag.diagnosis.evidence.peers import round_trip_ns
from perfdiag.diagnosis.evidence.requests.calls import by_peer
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import brief, duration, fault, percent, plain, together, waits
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.request_time import HELD, RESENT
from perfdiag.recording import schema

# A connect that is repeated waits for an answer, which NET-PEER-SLOW says: nothing need have been lost.
NET = ("net.receive", "net.send")


ID = "NET-RETRANSMITS"


@rule(
    ID,
    title="Segments are lost and sent again",
    accounts=(*NET, HELD, RESENT),
    meaning="Packets from the target to a peer were lost and sent again. Each timeout costs 200 ms or more, each"
    " fast retransmission a round trip; the thread waits all that time.",
    measured="Retransmissions (tracepoint tcp_retransmit_skb), or packets of the peer that this host drops (kfree_skb),"
    " which the peer sends again, with the waits on the same connection: as many waits"
    " of 134 ms or more as there were retransmissions, and a round trip for each. The ends of answers that wait"
    " here for an acknowledgement meanwhile count as well, and the timeouts after which parts of answers that were"
    " written whole are sent again.",
    alternatives="The peer is merely slow, and its connection lost some packets too; packets to the target are"
    " lost, which only the peer can count.",
    remedies="Find out where packets are dropped: interface errors, a full queue, a bad cable, a rate limit, a"
    " wrong MTU.",
    verify=(
        "nstat -n; sleep 10; nstat -z TcpRetransSegs TcpOutSegs: less than one segment in a thousand is sent again."
    ),
    beats=(
        "NET-PEER-SLOW",
        "NET-CONGESTION",
        "NET-CHATTY",
        "SQL-CHATTY",
        "NET-DELAYED-ACK",
        "NET-DNS-SLOW",
        "NET-RECEIVER-WINDOW",
        "NET-SELF-SLOW",
    ),
)
def retransmits(model: Model) -> Iterable[Outcome]:
    """Join retransmissions of a connection with its long waits."""
    answers = resent_answers(model)
    if answers:
        yield answers
    dead = any(are_dead(model, each) for each in by_peer(model, "connected").values())  # NET-PEER-SLOW tells of these
    told = dead or answers is not None
    judged = partial(_retransmitted_ns, dropped_by_peer(model))
    for outcome in outcomes(model, ID, NET, judged, _retransmits_finding, "retransmissions"):
        if not (told and isinstance(outcome, Check)):  # which would say that all are fine
            yield outcome


def _retransmitted_ns(dropped: Mapping[str, int], rows: list[Row], socket: schema.Socket) -> int:
    """Return what is waited for segments that are sent again: by this host, or by the peer, as this host has dropped
    what came from there."""
    seen = max(socket.retransmits_seen, dropped.get(socket.object, 0))
    if seen < network_policy.retransmits:
        return 0
    whole = together(rows)
    timeouts = whole.sum_ns - without_timeouts(whole, seen).sum_ns
    return min(whole.sum_ns, timeouts + seen * (round_trip_ns([socket]) or 0))


def _retransmits_finding(model: Model, causes: list[Cause]) -> Finding:
    # A connection has rows of several accounts: its retransmissions count once.
    sockets = {socket.object: socket for _, _, socket, _ in causes}
    seen = sum(socket.retransmits_seen for socket in sockets.values())
    coming = sum(dropped_by_peer(model).get(key, 0) for key in sockets) - seen
    taken_ns, answers_ns = sum(cause[3] for cause in causes), held_ns(model, lost=True)
    whole = together([row for cause in causes for row in cause[1]])
    here = dropping_here(model, sockets.values(), seen)
    dropped = dropped_here(model, sockets.keys(), max(seen, coming))
    way = "to" if coming <= seen else "from"
    evidence = [
        Evidence(f"{seen:,} segments to {named(causes)} sent again", float(seen), "count", "tcp_retransmit_skb"),
        waits(whole, "waits on these connections"),
        *(each.evidence for each in (here, dropped) if each),
        *_losses_of_host(model),
    ]
    return conclude(
        model,
        {claim: ns for claim, _, _, ns in causes} | ({HELD: answers_ns} if answers_ns else {}),
        headline=f"Packets {way} {brief(named(causes))} are lost"
        + (f" on this host: {name_of(here.queue)} drops them" if here else f": {dropped.words}" if dropped else ""),
        claim=(
            f"Packets {way} {named(causes)} are lost: {max(seen, coming):,} segments were sent again, or had to be,"
            f" which explains up to {duration(taken_ns)} of waiting."
        ),
        mechanism=Mechanism.FAILED,
        severity=fault(model, taken_ns + answers_ns),
        doubts=["the waits prolonged by lost packets are inferred from their length"],
        evidence=evidence,
        remedies=[*(each.remedy for each in (here, dropped) if each), FIND_DROPS],
        alternatives=[
            "the peer is slow as well",
            f"packets to {subject(model)} are lost, which only the peer can count",
        ],
        verify=checked(
            "nstat -n; sleep 10; nstat -z TcpRetransSegs TcpOutSegs",
            "the first number under a thousandth of the second",
        ),
    )


def _losses_of_host(model: Model) -> list[Evidence]:
    """Return what this host as a whole sent again, and what its interfaces dropped."""
    evidence = []
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
    return evidence
