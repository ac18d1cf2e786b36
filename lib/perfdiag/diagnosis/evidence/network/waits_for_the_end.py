"""Waits of requests for the end of a connection by which the answer has come already: part of NET-PEER-SLOW.

A program that reads an answer until the connection ends gets it when the peer closes, however early the answer came.
Peers keep connections open for a while, for the next call.
"""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.network.peer_waits import PeerWaits
from perfdiag.diagnosis.evidence.questions import calls_to
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import brief, claims_of, duration, fix, waits
from perfdiag.model.model import Model

_READ_ON = fix(
    'ask for the end with the answer (HTTP: "Connection: close"), or read only as far as the answer goes'
    " (Content-Length), as clients that know keep-alive do"
)
_WORKS_ON = "the peer has no length to tell: it works on, and its answer ends with the connection"


def waits_for_the_end(model: Model, found: PeerWaits) -> Finding | None:
    """Return the finding of a peer whose answers had begun when requests waited until it closed the connection; None
    where that is not most of the waiting."""
    calls = calls_to(model, {row.key for row in found.rows})
    count, ns = sum(line.until_end for line in calls), sum(line.until_end_ns or 0 for line in calls)
    if not count or ns < network_policy.retransmits_explain_share * found.waits.sum_ns:
        return None
    each_ns, first_ns = ns // count, sum(line.sum_ns for line in calls) // max(1, sum(line.count for line in calls))
    if each_ns < network_policy.slow_answer_ns or each_ns < first_ns:
        return None
    alone = (
        f"answers begin after {duration(first_ns)}; {plural(count, 'wait')} for the end alone, {duration(each_ns)} each"
    )
    return conclude(
        model,
        claims_of(found.rows),
        headline=f"{brief(found.name)} answers, but requests wait until it closes, {duration(each_ns)} each",
        claim=(
            f"{found.name} answers after {duration(first_ns)}, but {subject(model)} reads on until it closes the"
            f" connection, {duration(each_ns)} each: {plural(count, 'time')} nothing more came."
        ),
        mechanism=Mechanism.LIMIT,
        inside=True,
        evidence=[
            waits(found.waits, f"waits for {found.name}"),
            Evidence(alone, float(ns), "ns", "requests"),
        ],
        remedies=[_READ_ON],
        alternatives=[_WORKS_ON],
        verify=fewer(model, f"such waits for {found.name}", count),
    )
