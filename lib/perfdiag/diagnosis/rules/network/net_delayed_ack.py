"""Exchanges that take 40 ms each: one side holds data back until the other's kernel acknowledges, or so it may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.network.connections import ENOUGH_RETRANSMITS, EXPLAINS, Cause, named, outcomes
from perfdiag.diagnosis.evidence.network.delayed_acks import (
    CLUSTERED,
    DELAY_NS,
    ID,
    RECEIVE,
    calls_by_connection,
    evidence_of,
    lengths,
    looks_alike,
)
from perfdiag.diagnosis.evidence.network.held_answers import held_answers
from perfdiag.diagnosis.evidence.network.peers import connections_of
from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import (
    brief,
    duration,
    fault,
    fix,
    judged,
    together,
    total_ns,
)
from perfdiag.diagnosis.significance import waits as waits_evidence
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import HELD
from perfdiag.recording import schema


@rule(
    ID,
    title="Small writes wait for a delayed acknowledgement",
    accounts=(RECEIVE, HELD),
    meaning="One side writes a message in several small pieces. Its kernel holds the second piece back until the first"
    " is acknowledged (Nagle's algorithm), and the other side's kernel delays that by 40 ms, because it expects an"
    " answer to carry it. Then every exchange takes 40 ms, however fast the peer is.",
    measured="Calls and answers over the window whose last piece, smaller than a segment, the kernel of this host kept"
    " back though the peer had room for it (tcp_sock), from written until it was sent, to a tick: a finding where that"
    " is half of the calls' time and nothing was lost, or explains 1 % of the requests' time. And waits of net.receive"
    " by peer, where both ends of a connection belong to the target: four fifths of the time lie in waits of one"
    " length, 39 to 51 ms beyond the shortest round trip on average, and the two ends together wait longer than the"
    " window lasts, which is at the same time. Of other connections NET-PEER-SLOW names it as what looks alike, unless"
    " it is ruled out: calls that took as long as the waits left this host at once; the target's network namespace"
    " delayed too few acknowledgements (TcpExt.DelayedACKs counts those of all its connections), and a peer elsewhere"
    " did not delay them either (data in flight, and a mean round trip far above the shortest). What the peer holds"
    " back is not seen, nor the last answer on a connection that stays open.",
    alternatives="A protocol that waits for 40 ms of its own accord.",
    remedies="TCP_NODELAY on the side that writes in pieces, or one write (writev, a buffer) for each message.",
    verify="p50 of net.receive for this peer, request.held in the requests' time; ss -tin: notsent.",
    beats=("NET-PEER-SLOW", "NET-SELF-SLOW"),
)
def delayed(model: Model) -> Iterable[Outcome]:
    """One finding for all connections whose two ends wait for each other that long, one for answers held back."""
    connections, waited_ns = connections_of(model), dict[str, int]()
    for row in model.rows_of(RECEIVE):
        waited_ns[row.key] = waited_ns.get(row.key, 0) + row.distribution.sum_ns

    def explained_ns(rows: list[Row], socket: schema.Socket) -> int:
        """Return the waits of a connection during which nobody worked on the answer: the other end waited too."""
        if held_ns := _held_ns(model, socket):
            return min(total_ns(rows), held_ns)
        ns, other_ns = total_ns(rows), waited_ns.get(f"peer:{socket.local}", 0)
        if max(ns, other_ns) > model.window_ns:  # several threads at one end: their waits overlap by themselves
            return 0
        both = ns + other_ns - model.window_ns >= CLUSTERED * ns
        return ns if both and looks_alike(model, connections, rows) else 0

    answers = held_answers(model, ID)
    if answers:
        yield answers
    for outcome in outcomes(
        model, ID, (RECEIVE,), explained_ns, _finding, "questions held back, or both ends waiting at once"
    ):
        if not (answers and isinstance(outcome, Check)):  # that the other half is fine is not that of the rule
            yield outcome


def _held_ns(model: Model, socket: schema.Socket) -> int:
    """Return how long calls were held back here, 0 where that does not explain them: what is lost is held back, too."""
    call = calls_by_connection(model).get(socket.object)
    held_ns = call.line.held_ns if call else None
    if call is None or not held_ns or socket.retransmits_seen >= ENOUGH_RETRANSMITS:
        return 0
    return held_ns if held_ns >= EXPLAINS * call.line.sum_ns else 0


def _finding(model: Model, causes: list[Cause]) -> Finding:
    rows = [row for cause in causes for row in cause[1]]
    name, calls = (
        named(causes),
        [calls_by_connection(model)[cause[2].object] for cause in causes if _held_ns(model, cause[2])],
    )
    unseen = "the writes themselves were not seen" if len(calls) < len(causes) else ""
    confidence, limits = judged(model, Confidence.HIGH, [unseen])
    if _held_ns(model, causes[0][2]):
        claim = (
            f"Calls to {name} do not leave this host at once: {subject(model)} writes its messages in small pieces, and"
            f" the kernel holds the last one back until the others are acknowledged, {_mean(calls)} for each."
        )
    else:
        claim = (
            f"Exchanges with {name} wait for an acknowledgement that a kernel delays by 40 ms: both ends belong to"
            f" {subject(model)} and wait for each other at the same time, in waits of {lengths(rows)}. One side writes"
            " its messages in small pieces."
        )
    return Finding(
        ID,
        fault(model, total_ns(rows)),
        confidence,
        claim,
        {cause[0]: cause[3] for cause in causes},
        [waits_evidence(together(rows), f"waits for {name}"), *_held_evidence(calls), *evidence_of(model)],
        [
            fix(
                "set TCP_NODELAY on the side that writes a message in several pieces (strace -f -T -e"
                " trace=write,sendto,sendmsg shows them), or give it one write: writev, a buffer"
            )
        ],
        alternatives=[] if len(calls) == len(causes) else ["a protocol that waits for 40 ms of its own accord"],
        limits=limits,
        verify=f"{again(model)}: waits for {name} well under {duration(DELAY_NS[0])}",
        headline=f"Small writes to {brief(name)} wait for delayed acknowledgements",
        mechanism=Mechanism.SLOW,
    )


def _mean(calls: Sequence[Exchange]) -> str:
    count = sum(call.line.count for call in calls)
    return duration(sum(call.line.held_ns or 0 for call in calls) // max(1, count))


def _held_evidence(calls: Sequence[Exchange]) -> list[Evidence]:
    if not calls:
        return []
    held_ns, sum_ns = sum(call.line.held_ns or 0 for call in calls), sum(call.line.sum_ns for call in calls)
    count = sum(call.line.count for call in calls)
    text = f"{duration(held_ns)} of {duration(sum_ns)} in {count:,} calls before their last piece was sent"
    return [Evidence(text, float(held_ns), "ns", "sockets")]


__all__ = ["delayed"]
