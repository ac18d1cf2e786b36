"""Peers that requests wait for while no thread does: calls of an event loop that are not answered yet."""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer, shorter
from perfdiag.diagnosis.evidence.local.peer_work import of_calls
from perfdiag.diagnosis.evidence.local.slow_peers import with_work
from perfdiag.diagnosis.evidence.network.answers_in_pieces import answers_in_pieces
from perfdiag.diagnosis.evidence.network.calls_behind import calls_behind
from perfdiag.diagnosis.evidence.network.late_greetings import late_greeting_to_requests
from perfdiag.diagnosis.evidence.network.measuring_peers import measure_called
from perfdiag.diagnosis.evidence.network.new_connections import new_connections
from perfdiag.diagnosis.evidence.network.turns import with_limit
from perfdiag.diagnosis.evidence.peers import connections_of, lost_between, name_of, peer_of
from perfdiag.diagnosis.evidence.requests.calls import of_requests_ns, severity, spread
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import about, brief, duration, fix, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange, own_calls
from perfdiag.model.requests.request_time import PEERS

_FORGOTTEN = fix(
    "close idle connections before a firewall or NAT on the way forgets them: a shorter idle timeout of the connection"
    " pool, or TCP keep-alive"
)


def outstanding(model: Model) -> Iterable[Finding]:
    """One finding for each peer that requests wait for, by the time that calls to it took."""
    time = model.request_time
    if time is None:
        return
    others = own_calls(model.exchanges)[1]
    calls = [each for each in others if each.line.direction == "connected" and each.waited_ns]
    for each in calls:
        ns = of_requests_ns(model, each.waited_ns)
        if ns >= general_policy.worth_share * time.ns:
            asked = (model, each, ns)
            known = (
                calls_behind(*asked) or _never(*asked) or late_greeting_to_requests(*asked) or new_connections(*asked)
            )
            found = with_limit(model, known or answers_in_pieces(*asked) or _finding(*asked), each.line.object)
            yield replace(found, peer=each.line.object)


def _never(model: Model, call: Exchange, ns: int) -> Finding | None:
    """Return the finding of a peer whose calls mostly end without an answer; None where most time is in others."""
    given_up_ns, name = call.line.unanswered_ns or 0, name_of(call.line.object, call.object)
    if 2 * given_up_ns < call.waited_ns:
        return None
    count, each = call.line.unanswered, duration(given_up_ns // max(1, call.line.unanswered))
    resent = sent_again(model, call)
    dead = are_dead(model, call)
    asked = Evidence(
        f"{plural(count, 'call')} without an answer, {call.line.count:,} with one", float(count), "count", "sockets"
    )
    again = Evidence(
        f"{plural(resent, 'segment')} sent again, {plural(call.line.connects, 'new connection')} made",
        float(resent),
        "count",
        "sockets",
    )
    return conclude(
        model,
        {PEERS: ns},
        headline=(
            f"Connections to {brief(name)} are dead: calls there give up after {each}"
            if dead
            else f"{brief(name)} does not answer; requests give up after {each}"
        ),
        claim=(
            f"{plural(count, 'call')} to {name} ended without an answer; requests waited {each} for each."
            + (f" {plural(resent, 'segment')} got lost on the way, but new connections can be made." if dead else "")
        ),
        mechanism=Mechanism.FAILED,
        severity=severity(model, 0, ns),
        doubts=[_by_their_time(model)],
        evidence=[asked, *([again] if resent else [])],
        remedies=[
            *([_FORGOTTEN] if dead else []),
            measure_called(model, call),
            fix("stop asking it while it does not answer (a circuit breaker), or shorten the time limit"),
        ],
        alternatives=[lost_between([peer_of(call.line.object)]), "it answers too late for this time limit"],
        verify=fewer(model, f"calls to {name} without an answer", count),
    )


def are_dead(model: Model, call: Exchange) -> bool:
    """Return whether connections to a peer are: what is sent there is lost each time, though others can be made."""
    silent = call.line.unanswered
    return 0 < silent <= sent_again(model, call) and call.line.connects > call.line.connects_failed


def sent_again(model: Model, call: Exchange) -> int:
    """Return how many segments to the peer were sent again in the window."""
    return sum(each.retransmits_seen for each in model.sockets if each.object == call.line.object)


def _by_their_time(model: Model) -> str:
    """Return the doubt where nothing but its time tells that a call was made for a request, else ""."""
    time = model.request_time
    told = time is not None and time.accompanied >= general_policy.fault_share
    return "only their timing shows that requests wait for these calls" if told else ""


def _finding(model: Model, call: Exchange, ns: int) -> Finding:
    peer, name = peer_of(call.line.object), name_of(call.line.object, call.object)
    typical_ns = call.whole.typical_ns()
    way_ns = connections_of(model).way_ns(call.line.object)
    norm_ns = network_policy.slow_answer_ns + network_policy.prompt_round_trips * (way_ns or 0)
    slow = typical_ns >= norm_ns
    far_away = (way_ns or 0) >= network_policy.prompt_answer_ns
    if slow:
        claim = (
            f"{name} answers slowly: half of the time is in calls of {about(typical_ns)} or more. Requests wait for"
            " them."
        )
    elif far_away:
        claim = f"{name} answers fast: {about(typical_ns)} a call, at a round trip of {duration(way_ns or 0)}."
    else:
        claim = f"{name} answers fast ({about(typical_ns)} a call), but there are many calls."
    near = peer is None or peer.local or way_ns is not None
    far = "" if near else "the round trip to the peer was not measured"
    measure = measure_called(model, call)
    found = conclude(
        model,
        {PEERS: ns},
        headline=(
            f"{brief(name)} answers slowly, and requests wait for it"
            if slow
            else f"Requests wait for {brief(name)}, which is a round trip of {duration(way_ns or 0)} away"
            if far_away
            else f"Requests call {brief(name)} often; it answers fast"
        ),
        claim=claim,
        mechanism=Mechanism.SLOW if slow else Mechanism.MANY,
        severity=severity(model, 0, ns) if slow else Severity.INFO,
        doubts=[far, _by_their_time(model)],
        evidence=[_evidence(model, call)],
        remedies=[measure] if slow else [fix("ask for the same in fewer calls: batches, a cache, a join"), measure],
        alternatives=[lost_between([peer_of(call.line.object)])],
        verify=shorter(model, f"calls to {name}", typical_ns, norm_ns)
        if slow
        else fewer(model, f"calls to {name}", call.line.count),
    )
    return with_work(found, of_calls(model, call.line.object, call.waited_ns), name) if slow else found


def _evidence(model: Model, call: Exchange) -> Evidence:
    busy = min(1.0, call.line.busy_ns / model.window_ns) if model.window_ns else 0.0
    text = f"{call.line.count:,} calls, outstanding {percent(busy)} of the window, {spread(call.whole)}"
    return Evidence(text, float(call.line.sum_ns), "ns", "sockets")
