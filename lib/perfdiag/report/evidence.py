"""The evidence of findings: waits of threads are joined to the time of requests, where that is the whole."""

from perfdiag.common.text import printable
from perfdiag.common.units import duration
from perfdiag.diagnosis.rule import Evidence, EvidenceKind, Finding, account_of
from perfdiag.model.model import Model
from perfdiag.report import contract
from perfdiag.report.verdict.sentences import LONGEST_TEXT

_SAME = 0.9  # of the threads' waits, from which on the requests' time is the same number
_ALL = 0.98  # of the requests' time in the accounts of a finding
_SEVERAL = 1.5  # requests that wait at once, on average, from which on it is said


def evidence(model: Model, finding: Finding) -> list[contract.Evidence]:
    """Return the evidence of a finding."""
    time = model.request_time
    own = {account_of(claim) for claim in finding.claims}
    own_ns = sum(time.accounts.get(account, 0) for account in own) if time and not time.excess else 0
    waits = sum(each.kind is EvidenceKind.WAITS for each in finding.evidence)
    # What only part of the waits is for is not in all of them, nor is all of it in one of several kinds.
    whole = 0 < own_ns * _ALL <= finding.claimed_ns and waits == 1
    return [
        contract.Evidence(
            text=printable(each.text + (_in_requests(each, finding.claimed_ns) if whole else ""), LONGEST_TEXT),
            value=each.value,
            unit=each.unit,
            probe=printable(each.probe, LONGEST_TEXT),
            error=each.error,
            kind=each.kind.value,
            without_sum=printable(each.without_sum, LONGEST_TEXT) if _says_the_same(each, finding.claimed_ns) else "",
        )
        for each in finding.evidence
    ]


def _says_the_same(evidence: Evidence, claimed_ns: int) -> bool:
    """Return whether all the waits of a distribution take as long as a finding claims: two numbers for one thing."""
    return _SAME * claimed_ns <= evidence.value <= claimed_ns / _SAME


def _in_requests(evidence: Evidence, claimed_ns: int) -> str:
    """Return how the waits of threads become the requests' time that their finding claims."""
    if evidence.kind is not EvidenceKind.WAITS or not evidence.value:
        return ""
    at_once = claimed_ns / evidence.value
    if at_once < _SAME:
        return f", {duration(claimed_ns)} of it in requests"
    return f", {at_once:.0f} requests at once on average" if at_once >= _SEVERAL else ""
