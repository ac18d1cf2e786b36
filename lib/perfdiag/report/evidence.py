"""The evidence of findings: waits of threads are joined to the time of requests, where that is the whole."""

from collections.abc import Sequence

from perfdiag.common.text import printable
from perfdiag.common.units import duration
from perfdiag.diagnosis.rule import Evidence, EvidenceKind, Finding, account_of
from perfdiag.model.model import Model
from perfdiag.report import contract
from perfdiag.report.verdict.sentences import LONGEST_TEXT

_SAME = 0.9  # of the threads' waits, from which on the requests' time is the same number
_SEVERAL = 1.5  # requests that wait at once, on average, from which on it is said


def evidence(model: Model, finding: Finding, findings: Sequence[Finding]) -> list[contract.Evidence]:
    """Return the evidence of one of the findings."""
    whole = model.request_time is not None and not model.request_time.excess
    return [
        contract.Evidence(
            text=printable(each.text + (_in_requests(each, finding, findings) if whole else ""), LONGEST_TEXT),
            value=each.value,
            unit=each.unit,
            probe=printable(each.probe, LONGEST_TEXT),
            error=each.error,
            kind=each.kind.value,
        )
        for each in finding.evidence
    ]


def _in_requests(evidence: Evidence, finding: Finding, findings: Sequence[Finding]) -> str:
    """Return how the waits of threads become the requests' time that the finding claims, where nobody shares it."""
    if evidence.kind is not EvidenceKind.WAITS or not finding.claimed_ns:
        return ""
    own = {account_of(claim) for claim in finding.claims}
    if any(account_of(claim) in own for each in findings if each is not finding for claim in each.claims):
        return ""
    at_once = finding.claimed_ns / evidence.value if evidence.value else 1.0
    if at_once < _SAME:
        return f", {duration(finding.claimed_ns)} of it in requests"
    return f", {at_once:.0f} requests at once on average" if at_once >= _SEVERAL else ""
