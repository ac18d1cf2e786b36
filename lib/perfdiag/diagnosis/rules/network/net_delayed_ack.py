"""NET-DELAYED-ACK: exchanges take 40 ms each, because one kernel holds data back until the other acknowledges."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.connections import Cause, named, outcomes
from perfdiag.diagnosis.evidence.network.delayed_acks import (
    DELAY_NS,
    ID,
    RECEIVE,
    calls_by_connection,
    evidence_of,
    lengths,
    looks_alike,
    without_delay,
)
from perfdiag.diagnosis.evidence.network.delayed_arrivals import arrivals_finding
from perfdiag.diagnosis.evidence.network.held_answers import Kept, held_answers
from perfdiag.diagnosis.evidence.peers import connections_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import (
    brief,
    duration,
    fault,
    fix,
    together,
    total_ns,
)
from perfdiag.diagnosis.significance import waits as waits_evidence
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import ARRIVING, HELD
from perfdiag.recording import schema


@rule(
    ID,
    title="Small writes wait for a delayed acknowledgement",
    accounts=(RECEIVE, HELD, ARRIVING),
    meaning="One side writes a message in several small pieces. Its kernel holds the last piece back until the"
    " first is acknowledged (Nagle's algorithm); the other side's kernel delays the acknowledgement by 40"
    " ms, to send it along with an answer. Every exchange then takes 40 ms, however fast the peer is.",
    measured="Calls and answers whose last piece this kernel kept back though the peer had room for it (tcp_sock):"
    " half of the calls' time with nothing lost, or 1 % of the requests' time. And connections of the"
    " target to itself with four fifths of the waiting in waits of one length, 39 to 51 ms beyond the"
    " round trip, at both ends at once. On other connections NET-PEER-SLOW names it as possible unless the"
    " calls left this host at once, TcpExt.DelayedACKs is too small, and the peer did not delay them"
    " either. Requests that take 39 to 51 ms from their first byte to their last, or threads that wait as long for"
    " the rest of some of them, while this kernel delayed an acknowledgement for at least every other. Data that the"
    " peer holds back, and the last answer on an open connection, are not seen.",
    alternatives="A protocol that itself waits for 40 ms.",
    remedies="Set TCP_NODELAY on the side that writes in pieces, or write each message at once (writev, a buffer).",
    verify="Waits to receive from this peer are well under 39 ms; ss -tin shows no growing notsent.",
    beats=("NET-PEER-SLOW", "NET-SELF-SLOW"),
)
def delayed(model: Model) -> Iterable[Outcome]:
    """Yield one finding for connections whose two ends wait for each other that long, and one for answers held back."""
    connections, waited_ns = connections_of(model), dict[str, int]()
    for row in model.rows_of(RECEIVE):
        waited_ns[row.key] = waited_ns.get(row.key, 0) + row.distribution.sum_ns

    def explained_ns(rows: list[Row], socket: schema.Socket) -> int:
        """Return the waits of a connection during which nobody worked on the answer, because the other end waited,
        too."""
        if held_ns := _held_ns(model, socket):
            return min(total_ns(rows), held_ns)
        ns, other_ns = total_ns(rows), waited_ns.get(f"peer:{socket.local}", 0)
        if max(ns, other_ns) > model.window_ns:  # several threads at one end: their waits overlap by themselves
            return 0
        both = ns + other_ns - model.window_ns >= network_policy.delayed_ack_cluster_share * ns
        return ns if both and looks_alike(model, connections, rows) else 0

    answers, arrivals = held_answers(model), arrivals_finding(model)
    yield from filter(None, (answers, arrivals))
    for outcome in outcomes(
        model, ID, (RECEIVE,), explained_ns, _finding, "data held back, or both ends waiting at once"
    ):
        if not (
            (answers or arrivals) and isinstance(outcome, Check)
        ):  # that the other half is fine is not that of the rule
            yield outcome


def _held_ns(model: Model, socket: schema.Socket) -> int:
    """Return how long calls were held back here, or 0 if that does not explain them: lost data is held back, too."""
    call = calls_by_connection(model).get(socket.object)
    held_ns = call.line.held_ns if call else None
    if call is None or not held_ns or socket.retransmits_seen >= network_policy.retransmits:
        return 0
    return held_ns if held_ns >= network_policy.retransmits_explain_share * call.line.sum_ns else 0


def _finding(model: Model, causes: list[Cause]) -> Finding:
    rows = [row for cause in causes for row in cause[1]]
    name, calls = (
        named(causes),
        [calls_by_connection(model)[cause[2].object] for cause in causes if _held_ns(model, cause[2])],
    )
    held = Kept([(call.line.held_ns or 0, call) for call in calls])
    unseen = "the writes themselves were not seen" if len(calls) < len(causes) else ""
    if _held_ns(model, causes[0][2]):
        claim = (
            f"Calls to {name} leave this host late: {subject(model)} writes its messages in small pieces, and the"
            f" kernel holds the last piece back until the others are acknowledged, {held.mean()} each."
        )
    else:
        claim = (
            f"Exchanges with {name} wait for an acknowledgement that a kernel delays by 40 ms: both ends belong to"
            f" {subject(model)} and wait for each other in waits of {lengths(rows)}. One side writes its messages in"
            " small pieces."
        )
    return conclude(
        model,
        {cause[0]: cause[3] for cause in causes},
        headline=f"Small writes to {brief(name)} wait for delayed acknowledgements",
        claim=claim,
        mechanism=Mechanism.SLOW,
        severity=fault(model, total_ns(rows)),
        doubts=[unseen],
        evidence=[waits_evidence(together(rows), f"waits for {name}"), *_held_evidence(calls), *evidence_of(model)],
        remedies=[
            fix(
                f"set {without_delay(model)} on the side that writes a message in several pieces (strace -f -T -e"
                " trace=write,sendto,sendmsg shows them), or let it write each message at once: writev, a buffer"
            )
        ],
        alternatives=[] if len(calls) == len(causes) else ["a protocol that itself waits for 40 ms"],
        verify=measured(model, f"waits for {name} well under {duration(DELAY_NS[0])}"),
    )


def _held_evidence(calls: Sequence[Exchange]) -> list[Evidence]:
    if not calls:
        return []
    held_ns, sum_ns = sum(call.line.held_ns or 0 for call in calls), sum(call.line.sum_ns for call in calls)
    count = sum(call.line.count for call in calls)
    text = f"{duration(held_ns)} of {duration(sum_ns)} in {count:,} calls before their last piece was sent"
    return [Evidence(text, float(held_ns), "ns", "sockets")]
