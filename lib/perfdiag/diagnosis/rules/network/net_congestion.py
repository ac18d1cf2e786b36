"""NET-CONGESTION: the congestion window of a connection holds a sender back."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.network.connections import Cause, held_ns, named, outcomes
from perfdiag.diagnosis.evidence.network.delayed_acks import DELAY_NS, RECEIVE
from perfdiag.diagnosis.evidence.network.full_paths import held_ns as answers_held_ns
from perfdiag.diagnosis.evidence.network.full_paths import queues
from perfdiag.diagnosis.evidence.network.own_queues import shaper_of
from perfdiag.diagnosis.evidence.network.slow_starts import keep_window, slow_starts
from perfdiag.diagnosis.evidence.peers import peer_of, round_trip_ns
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import brief, duration, fault, fix, plain, together, waits
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.request_time import HELD
from perfdiag.recording import schema


@rule(
    "NET-CONGESTION",
    title="The path to the peer carries no more",
    accounts=("net.send", RECEIVE, HELD),
    meaning="Threads wait in send because the congestion window is used up: the path is full or loses packets, or"
    " the connection is new or was idle and starts slowly. Without loss or queueing this is the capacity of"
    " the path, and no fault. Where what was sent queues on the path, answers come as much later.",
    measured="At each wait in send, what held the connection: the congestion window, or the own send buffer while"
    " packets queue on the path. A fault needs a round trip of twice the shortest, or retransmissions; for"
    " a peer on this host, retransmissions, or a round trip of over 51 ms, as no late acknowledgement makes it."
    " Waits for answers to large questions that are as long as the round trips which those take from a window of ten"
    " segments are told apart. Of others, the part that the round trip is longer than the shortest, from 51 ms"
    " on, while several segments are in flight. The ends of answers that wait here meanwhile count as well."
    " Shapers of this host are looked for in its queueing disciplines.",
    alternatives="Packets are lost for other reasons (radio, a bad cable); a short burst after an idle time.",
    remedies="Send less, more evenly, or over another path; keep the window after idle times.",
    verify="ss -ti on this host shows a growing cwnd, and an rtt near minrtt.",
    beats=(
        "NET-DELAYED-ACK",
        "NET-PEER-SLOW",
        "NET-SELF-SLOW",
    ),
)
def congestion(model: Model) -> Iterable[Outcome]:
    """Join waits with what held the connection, here the congestion window."""
    begun = list(slow_starts(model))
    told = {claim for finding in begun for claim in finding.claims}
    yield from begun
    for outcome in outcomes(
        model,
        "NET-CONGESTION",
        ("net.send", RECEIVE),
        lambda rows, socket: 0 if (rows[0].account, rows[0].key) in told else _held_ns(model, rows, socket),
        _congestion_finding,
        "congestion",
    ):
        if not (begun and isinstance(outcome, Check)):  # that the others are fine is not that of the rule
            yield outcome


def _held_ns(model: Model, rows: Sequence[Row], socket: schema.Socket) -> int:
    """Return how much of waits on a connection the way takes."""
    if rows[0].account != RECEIVE:
        return held_ns(rows, socket, _waits(model, socket))
    whole, shortest_ns, ns = together(rows), round_trip_ns([socket]), socket.rtt_us * 1000
    late = shortest_ns is not None and ns >= DELAY_NS[1] and queues(model, socket)
    if shortest_ns is None or not late or socket.in_flight < network_policy.queued_segments:
        return 0
    asked = 0 if socket.waits_unasked is None else max(0, whole.count - socket.waits_unasked)
    return min(whole.sum_ns, asked * (ns - shortest_ns))


def _waits(model: Model, socket: schema.Socket) -> int:
    """Return how many waits the way held: with the own buffer full those, too, in which packets queue there.  If the
    reader's window was full more often than that of congestion, its acknowledgements are late because it reads late."""
    queued = socket.waits_receiver <= socket.waits_congestion and queues(model, socket)
    return socket.waits_congestion + (socket.waits_buffer if queued else 0)


def _congestion_finding(model: Model, causes: list[Cause]) -> Finding:
    socket = causes[0][2]
    taken_ns = sum(cause[3] for cause in causes)
    shortest_us = (round_trip_ns([socket]) or 0) / 1000
    queued, answers_ns = queues(model, socket), answers_held_ns(model, lost=False)
    shaper = shaper_of(model, socket) if queued else None
    evidence = [
        waits(together([row for cause in causes for row in cause[1]]), f"waits for {named(causes)}"),
        *([shaper.evidence] if shaper else []),
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
    lost = any(cause[2].retransmits_seen >= network_policy.retransmits for cause in causes)
    why = "packets queue on the way" if queued else "packets are lost" if lost else "this is what the path carries"
    where = f"The path to {brief(named(causes))} holds data up: {why}"
    return conclude(
        model,
        {claim: ns for claim, _, _, ns in causes} | ({HELD: answers_ns} if answers_ns else {}),
        headline=f"Packets queue on this host: {shaper.words}" if shaper else where,
        claim=f"The path to {named(causes)} holds {subject(model)} up for {duration(taken_ns)}: {why}.",
        mechanism=Mechanism.FAILED if lost and not queued else Mechanism.BUSY if queued else Mechanism.OTHERS,
        severity=fault(model, taken_ns + answers_ns) if queued or lost else Severity.INFO,
        doubts=["" if model.measured("tcp") else "retransmissions were not measured"],
        evidence=evidence,
        remedies=[*([shaper.remedy] if shaper else []), *_congestion_remedies(model, socket)],
        alternatives=["packets are lost for a reason other than a full path", "a slow start after an idle time"],
        verify=checked(
            f"ss -tin dst {plain(str(peer_of(causes[0][0][1]) or 'PEER'))}",
            f"rtt near {duration(shortest_us * 1000)}, the shortest; now {duration(socket.rtt_us * 1000)}",
        ),
    )


def _congestion_remedies(model: Model, socket: schema.Socket) -> list[Remedy]:
    remedies = [fix("send less or more evenly, compress, or take another path; find out who else fills it")]
    small = socket.congestion_window <= network_policy.small_window_segments
    return [*(keep_window(model) if small else []), *remedies]
