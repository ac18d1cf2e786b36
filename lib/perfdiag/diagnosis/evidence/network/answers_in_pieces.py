"""Answers of a peer that begin soon and take long to come in whole: part of NET-PEER-SLOW."""

from perfdiag.common.units import plural, size
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.network.measuring_peers import measure_called
from perfdiag.diagnosis.evidence.network.peers import name_of
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import about, brief, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import PEERS


def answers_in_pieces(model: Model, call: Exchange, ns: int, part: float) -> Finding | None:
    """Return the finding of requests that mostly wait for the rest of answers that have begun; else None.

    `ns`: of the requests' time that waits for this peer; `part` of it all.
    """
    rest_ns = call.line.rest_ns or 0
    if 2 * rest_ns < call.waited_ns or rest_ns < network_policy.slow_answer_ns * call.line.count:
        return None
    name, each_ns = name_of(call.line.object, call.object), rest_ns // call.line.count
    each, bytes_each = about(each_ns), call.line.bytes_in / call.line.count
    pieces = f"{plural(call.line.count, 'answer')}, {each} until the rest of each had come; {size(bytes_each)} each"
    return conclude(
        model,
        {PEERS: ns},
        headline=f"{brief(name)} begins its answers at once and sends the rest {each} later",
        claim=(
            f"The answers of {name} begin after {about(call.whole.typical_ns())}, but requests wait {each} more for the"
            " rest of each."
        ),
        mechanism=Mechanism.SLOW,
        severity=Severity.WARNING if part >= general_policy.fault_share else Severity.INFO,
        evidence=[Evidence(pieces, float(rest_ns), "ns", "sockets")],
        remedies=[measure_called(model, call), fix("ask for less: fewer rows or fields, or a page at a time")],
        alternatives=["packets are lost on the way: see NET-RETRANSMITS", "the path has no more bandwidth"],
        verify=shorter(model, f"the rest of answers of {name}", each_ns, network_policy.slow_answer_ns),
    )
