"""Requests that go from thread to thread: what those threads wait for meanwhile.

Where one thread reads a request and others work on it, nothing shows which of them has it, and most of its time is not
followed. A fault that the target's threads suffer outside of requests that were followed is the proven part of that
time: they had these requests, or kept others from them. Each nanosecond of a thread counts once, though several
requests may wait for it: the rest stays unknown. Not for what background threads suffer, and not for facts that depart
from no norm.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from perfdiag.common.units import duration
from perfdiag.diagnosis.evidence.requests.parts_inside import parts_inside
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import RULES, Claim, Evidence, Finding, Role, Severity, account_of
from perfdiag.diagnosis.thread_roles import Roles
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST, RequestTime
from perfdiag.model.share_denominator import counted


def with_other_hands(model: Model, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; faults that threads suffer outside of requests claim time that was not followed."""
    time, found = model.request_time, list(findings)
    if time is None or time.handed_ns < general_policy.fault_share * time.ns:
        return found
    inside, roles = parts_inside(model), Roles(model)
    return [_with_rest(finding, inside, roles, time) for finding in found]


def _with_rest(finding: Finding, inside: Mapping[Claim, float], roles: Roles, time: RequestTime) -> Finding:
    multiplies = finding.id in RULES and RULES[finding.id].multiplier
    if finding.severity is Severity.INFO or multiplies or REST in finding.claims:
        return finding
    if roles.of(finding.claims)[1] is Role.BACKGROUND:
        return finding
    ns = sum(_outside_ns(claim, claimed_ns, inside) for claim, claimed_ns in finding.claims.items())
    if ns < general_policy.worth_share * time.ns:
        return finding
    text = f"threads spent {duration(ns)} there outside of the requests that one thread served"
    return replace(
        finding,
        claims={**finding.claims, REST: min(ns, time.handed_ns)},
        evidence=[*finding.evidence, Evidence(text, float(ns), "ns", "ledger")],
    )


def _outside_ns(claim: Claim, ns: int, inside: Mapping[Claim, float]) -> int:
    """Return how much of the threads' time that is claimed is outside of requests."""
    if not counted(account_of(claim)):
        return 0
    part = inside.get(claim, inside.get(account_of(claim)))
    return 0 if part is None else round(ns * max(0.0, 1 - part))
