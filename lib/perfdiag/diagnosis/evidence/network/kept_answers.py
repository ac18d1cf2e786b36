"""Answers that clients would take, kept by this host's own buffer, or by connections that have just begun: parts of
NET-SLOW-CLIENT."""

from collections.abc import Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.send_buffers import kept_by_buffer, kept_by_way, larger_buffer
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import UNTAKEN

_SMALLER = fix("send less: compress answers, or send them in parts")
_KEEP = fix(
    "keep connections open between requests: keep-alive, at the server (nginx: keepalive_timeout) and at clients"
)


def small_buffer(
    model: Model, untaken: Sequence[Exchange], ns: int, severity: Severity, evidence: list[Evidence]
) -> Finding | None:
    """Return the finding on answers that the send buffer's size kept; None if something else did.

    `untaken`: requests whose answers found it full, for `ns` of their time.
    """
    if not kept_by_buffer(untaken):
        return None
    return conclude(
        model,
        {UNTAKEN: ns},
        headline="Answers wait for room in the own send buffer, which is smaller than the way",
        claim=(
            f"Answers waited {duration(_untaken_ns(untaken))} for room in the send buffer, while the clients' windows"
            " and the network had room: each connection sends one buffer a round trip."
        ),
        mechanism=Mechanism.LIMIT,
        severity=severity,
        doubts=[not_followed(model)],
        evidence=evidence,
        remedies=[larger_buffer(model), _SMALLER],
        alternatives=["the client acknowledges late (NET-DELAYED-ACK)"],
        verify=time_under(model, UNTAKEN),
        inside=True,
    )


def new_connections(
    model: Model, untaken: Sequence[Exchange], ns: int, severity: Severity, evidence: list[Evidence]
) -> Finding | None:
    """Return the finding on answers that a new connection's small window kept; None if connections are used again."""
    accepted = model.requests_inside.accepted if model.requests_inside else None
    count = sum(each.line.count for each in model.exchanges if each.served)
    share = accepted / count if accepted and count else 0.0
    like = network_policy.new_connections_share <= share <= 1 / network_policy.new_connections_share
    if not accepted or not like or not kept_by_way(untaken):
        return None
    return conclude(
        model,
        {UNTAKEN: ns},
        headline="Most answers go over new connections, which carry little at first",
        claim=(
            f"Answers waited {duration(_untaken_ns(untaken))} for the network: {plural(count, 'request')} came over"
            f" {plural(accepted, 'connection')}, and TCP sends a few packets at first, and more with each round trip."
        ),
        mechanism=Mechanism.MANY,
        severity=severity,
        doubts=[not_followed(model)],
        evidence=evidence,
        remedies=[_KEEP, _SMALLER],
        alternatives=["the way to the clients is slow, or full"],
        verify=time_under(model, UNTAKEN),
        inside=True,
    )


def _untaken_ns(untaken: Sequence[Exchange]) -> int:
    return sum(each.line.untaken_ns or 0 for each in untaken)
