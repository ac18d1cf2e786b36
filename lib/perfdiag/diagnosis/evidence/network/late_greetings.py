"""Waits for what a peer says first on a new connection, before it is asked anything: part of NET-PEER-SLOW.

Servers of mail, SSH and SQL greet their clients.  Relays of mail may do so late on purpose, to find senders that do not
wait for it; others look up the client's name first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.network.measuring_peers import measure, measure_called
from perfdiag.diagnosis.evidence.network.peer_waits import PeerWaits
from perfdiag.diagnosis.evidence.peers import connections_of, name_of
from perfdiag.diagnosis.evidence.questions import calls_to
from perfdiag.diagnosis.evidence.requests.calls import severity
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Claim, Evidence, Finding, Mechanism, Remedy, Severity
from perfdiag.diagnosis.significance import brief, claims_of, duration, fault, fix, waits
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import PEERS
from perfdiag.recording import schema

_KEEP = fix("keep connections open, or use a pool of them: each new one waits for that greeting")


def late_greeting(model: Model, found: PeerWaits) -> Finding | None:
    """Return the finding of a peer for whose greetings threads waited most of their time there; else None."""
    late = _late(calls_to(model, {row.key for row in found.rows}), found.waits.sum_ns, found.round_trip_ns or 0)
    if not late:
        return None
    seen, remedies = waits(found.waits, f"waits for {found.name}"), [fix(measure(found.peers)), _KEEP]
    return _finding(model, found.name, late, claims_of(found.rows), fault(model, late.ns), [seen], remedies)


def late_greeting_to_requests(model: Model, call: Exchange, ns: int) -> Finding | None:
    """Return the same of a peer for which requests wait where no thread does; `ns`: of their time."""
    late = _late([call.line], call.waited_ns, connections_of(model).way_ns(call.line.object) or 0)
    if not late:
        return None
    remedies = [measure_called(model, call), _KEEP]
    return _finding(
        model, name_of(call.line.object, call.object), late, {PEERS: ns}, severity(model, 0, ns), [], remedies
    )


@dataclass(frozen=True)
class _Greetings:
    count: int
    ns: int


def _late(calls: Iterable[schema.Exchange], waited_ns: int, way_ns: int) -> _Greetings | None:
    """Return the greetings of a peer, if they are late, and most of what is waited for there."""
    lines = list(calls)
    late = _Greetings(sum(line.greetings for line in lines), sum(line.greeting_ns for line in lines))
    if not late.count or late.ns < network_policy.retransmits_explain_share * waited_ns:
        return None
    return late if late.ns >= late.count * (network_policy.slow_answer_ns + way_ns) else None


def _finding(
    model: Model,
    name: str,
    late: _Greetings,
    claims: dict[Claim, int],
    level: Severity,
    seen: list[Evidence],
    remedies: list[Remedy],
) -> Finding:
    each_ns = late.ns // late.count
    each = duration(each_ns)
    return conclude(
        model,
        claims,
        headline=f"{brief(name)} greets each new connection late, after {each}",
        claim=(
            f"{name} says something on {plural(late.count, 'new connection')} only after {each}, before it is asked"
            " anything. Whoever calls it waits for that."
        ),
        mechanism=Mechanism.SLOW,
        severity=level,
        evidence=[*seen, Evidence(f"{plural(late.count, 'greeting')}, {each} each", float(late.ns), "ns", "sockets")],
        remedies=remedies,
        alternatives=["it greets late on purpose (postscreen of Postfix, greet_pause), or looks the client's name up"],
        verify=shorter(model, f"greetings of {name}", each_ns, network_policy.slow_answer_ns),
    )
