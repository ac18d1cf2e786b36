"""What the waits for a peer mean: new connections, a full send buffer, many fast answers, or a peer that is slow."""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.network.delayed_acks import lengths, telling
from perfdiag.diagnosis.evidence.network.measuring_peers import measure
from perfdiag.diagnosis.evidence.network.new_connections import KEEP
from perfdiag.diagnosis.evidence.network.peer_waits import PeerWaits
from perfdiag.diagnosis.evidence.network.send_buffers import larger_buffer
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Mechanism, Remedy, Severity
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, total_ns
from perfdiag.model.model import Model, Row
from perfdiag.recording import schema

Judgement = tuple[Severity, str, list[Remedy], Mechanism, str]  # with the claim in front, the headline at the end


def judged(model: Model, found: PeerWaits) -> Judgement:
    """Return what the waits for a peer mean, and what to do."""
    name, typical = found.name, about(found.typical_ns)
    answers = found.agreeing("answers")
    remedies = _remedies(found)
    if found.connects_anew:
        made = f"{plural(found.connects, 'connection')} for {plural(found.answers or 0, 'answer')}"
        return (
            fault(model, sum(row.distribution.sum_ns for row in found.rows if row.account == "net.connect")),
            f"{name} {answers} fast ({typical}), but {subject(model)} makes {made}: each costs a round trip, and one or"
            " two more with TLS.",
            [KEEP, *remedies],
            Mechanism.MANY,
            f"Calls to {brief(name)} make new connections all the time: {made}",
        )
    sending = [row for row in found.rows if row.account == "net.send"]
    sent_ns = total_ns(sending)
    if 2 * sent_ns > total_ns(found.rows) and not found.late_after_sending and _own_buffer(found.sockets):
        return (
            Severity.INFO,
            f"Sending to {name} waits for room in the own send buffer ({duration(sent_ns)}): the buffer is"
            " too small for the round trip, or the reader takes data at this rate.",
            [larger_buffer(model), *remedies],
            Mechanism.LIMIT,
            f"Sending to {brief(name)} waits for room in the own send buffer",
        )
    if not found.slow and not found.late_after_sending:
        return (
            Severity.INFO,
            f"{name} {answers} fast ({typical}), but there are many waits ({found.waits.count:,}).",
            remedies,
            Mechanism.MANY,
            f"{brief(name)} {answers} fast, but threads wait for {found.agreeing('it')} often",
        )
    return _slow(model, found, sending, remedies)


def _slow(model: Model, found: PeerWaits, sending: list[Row], remedies: list[Remedy]) -> Judgement:
    name, typical = found.name, about(found.typical_ns)
    answers, takes = found.agreeing("answers"), found.agreeing("takes")
    severity = fault(model, round(found.taken_ns * found.beyond))
    if len(sending) == len(found.rows):
        claim = f"{name} {takes} data slowly: half of the waiting time is in waits of {typical}."
        return severity, claim, remedies, Mechanism.SLOW, f"{brief(name)} {takes} data slowly"
    if found.like_delayed:
        claim = (
            f"{name} {answers} slowly, or one side writes in small pieces and the other's kernel acknowledges them 40"
            f" ms late; both are as likely. Half of the waiting time is in waits of {lengths(found.rows)}."
        )
        late = f"{found.agreeing('acknowledges')} small writes late"
        return severity, claim, [telling(), *remedies], Mechanism.SLOW, f"{brief(name)} {answers} slowly, or {late}"
    each_ns, whole = (found.typical_ns, "waiting time") if found.slow else (found.answer_ns, "waiting for answers")
    way_ns = found.round_trip_ns
    beyond = f", {about(each_ns - way_ns)} more than the round trip" if way_ns is not None else ""
    claim = f"{name} {answers} slowly: half of the {whole} is in waits of {about(each_ns)}{beyond}."
    return severity, claim, remedies, Mechanism.SLOW, f"{brief(name)} {answers} slowly"


def _own_buffer(sockets: list[schema.Socket]) -> bool:
    """Return whether most waits in send had room in the windows of peer and path, but none in the own buffer."""
    return sum(socket.waits_buffer for socket in sockets) > sum(
        socket.waits_receiver + socket.waits_congestion for socket in sockets
    )


def _remedies(found: PeerWaits) -> list[Remedy]:
    where = fix(measure(found.peers))
    fewer = fix("ask for the same in fewer round trips: batches, pipelining, a cache, a join instead of a loop")
    if not found.slow:
        return [fewer, where]
    return [where] if found.few_or_long else [where, fewer]
