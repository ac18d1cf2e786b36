"""Calls that requests send behind others on one connection: part of NET-PEER-SLOW.

Who answers a connection in turn answers what came first: a command that waits for work (BLPOP of Redis), or
a large one, holds up all that is asked behind it, however fast that could be answered.
"""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.evidence.requests.calls import severity
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import brief, duration, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import PEERS

_APART = fix(
    "give calls that take long or wait for work (BLPOP, subscriptions, long polls), a connection of their own, or use a"
    " pool of connections"
)


def calls_behind(model: Model, call: Exchange, ns: int) -> Finding | None:
    """Return the finding of requests that mostly wait for calls before theirs on the same connection; else None.

    `ns`: of the requests' time that waits for this peer.
    """
    count, behind_ns = call.line.behind, call.line.behind_ns
    if not count or 2 * behind_ns < call.waited_ns or behind_ns < network_policy.slow_answer_ns * count:
        return None
    name, each = name_of(call.line.object, call.object), duration(behind_ns // count)
    longest = duration(call.whole.max_ns)
    behind = f"{plural(count, 'call')} behind others, {each} each; the longest call to it took {longest}"
    return conclude(
        model,
        {PEERS: ns},
        headline=f"Requests wait behind other calls on the same connection to {brief(name)}, {each} each",
        claim=(
            f"{plural(count, 'call')} of requests to {name} went out on a connection where {subject(model)} had an"
            f" earlier call that was not answered yet, and waited {each} until it was."
        ),
        mechanism=Mechanism.LIMIT,
        severity=severity(model, 0, ns),
        doubts=["whether it answers calls in their order was not measured"],
        evidence=[Evidence(behind, float(behind_ns), "ns", "sockets")],
        remedies=[_APART],
        alternatives=["it answers a connection's calls in any order (HTTP/2), and is slow itself"],
        verify=fewer(model, f"calls to {name} behind others", count),
        inside=True,
    )
