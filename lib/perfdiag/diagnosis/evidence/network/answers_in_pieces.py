"""Answers of a peer that begin soon and take long to come in whole: part of NET-PEER-SLOW."""

from perfdiag.common.units import plural, size
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.network.measuring_peers import measure_called
from perfdiag.diagnosis.evidence.peers import lost_between, name_of, peer_of
from perfdiag.diagnosis.evidence.requests.calls import severity
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import about, brief, duration, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import PEERS


def answers_in_pieces(model: Model, call: Exchange, ns: int) -> Finding | None:
    """Return the finding of requests that mostly wait for the rest of answers that have begun; else None.

    `ns`: of the requests' time that waits for this peer.
    """
    count, rest_ns = call.line.count, call.line.rest_ns or 0
    usual_ns = call.line.bytes_in * network_policy.slow_client_ns_per_byte  # what a fast line needs for them
    slow = count > 0 and rest_ns - usual_ns >= network_policy.slow_answer_ns * count
    if not slow or 2 * rest_ns < call.waited_ns:
        return None
    name, each_ns = name_of(call.line.object, call.object), rest_ns // count
    each, begin = about(each_ns), about(call.whole.typical_ns())
    pieces = f"{plural(count, 'answer')}, {duration(rest_ns)} until the rest had come; {size(call.line.bytes_in)}"
    return conclude(
        model,
        {PEERS: ns},
        headline=f"{brief(name)} begins its answers after {begin}, and takes {each} more to send them",
        claim=f"The answers of {name} begin after {begin}. Requests wait {each} more for the rest of each.",
        mechanism=Mechanism.SLOW,
        severity=severity(model, 0, ns),
        evidence=[Evidence(pieces, float(rest_ns), "ns", "sockets")],
        remedies=[measure_called(model, call), fix("ask for less: fewer rows or fields, or a page at a time")],
        alternatives=[
            lost_between([peer_of(call.line.object)]),
            "the path has no more bandwidth",
            "what came later was no part of the answer, such as a heartbeat",
        ],
        verify=shorter(model, f"the rest of answers of {name}", each_ns, network_policy.slow_answer_ns),
    )
