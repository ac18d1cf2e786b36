"""Waits for a peer's answer that the target's own timeout ends, after which it goes on: part of NET-PEER-SLOW."""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.network.peer_waits import PeerWaits
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import brief, claims_of, duration, fault, fix, waits
from perfdiag.model.model import Model


def given_up_calls(model: Model, found: PeerWaits) -> Finding | None:
    """Return the finding of waits for answers that did not come in time, though others did; None if these are few."""
    count, given_up_ns = found.given_up, found.given_up_ns
    waited_ns = found.waits.sum_ns
    if not count or not found.slow or given_up_ns < network_policy.retransmits_explain_share * waited_ns:
        return None
    each = duration(given_up_ns // count)
    return conclude(
        model,
        claims_of(found.rows),
        headline=f"Waits for an answer of {brief(found.name)} end by timeouts of {subject(model)}, {each} each",
        claim=(
            f"{plural(count, 'wait')} for an answer of {found.name} ended by a timeout of {subject(model)},"
            f" {each} each: then it sent more."
        ),
        mechanism=Mechanism.SLEEP,
        inside=True,
        severity=fault(model, waited_ns),
        doubts=["nothing shows that an answer was due"],
        evidence=[
            waits(found.waits, f"waits for {found.name}"),
            Evidence(f"{duration(given_up_ns)} until these timeouts", float(given_up_ns), "ns", "requests"),
        ],
        remedies=[
            fix(
                'find out what it waits for in vain and do not ask for that (HTTP clients: no "Expect:'
                ' 100-continue"), or shorten the timeout'
            )
        ],
        alternatives=["the peer answers too late for this timeout"],
        verify=fewer(model, f"such waits for {found.name}", count),
    )
