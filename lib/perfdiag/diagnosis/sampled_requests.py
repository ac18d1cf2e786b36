"""Findings beside a sample of requests: they say so, and are less sure."""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.diagnosis.rule import Confidence, Finding
from perfdiag.diagnosis.significance import percent
from perfdiag.model.model import Model


def with_sample(model: Model, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; those that are ranked by the time of requests rest on those that were followed."""
    one_of = model.one_connection_in
    if one_of < 2 or model.request_time is None:
        return list(findings)
    limit = (
        f"requests on one connection in {one_of} were followed (--max-cost): their numbers are estimates,"
        f" +-{percent(model.request_error)}"
    )
    return [_less_sure(finding, limit) for finding in findings]


def _less_sure(finding: Finding, limit: str) -> Finding:
    sure = Confidence.MEDIUM if finding.confidence is Confidence.HIGH else finding.confidence
    return replace(finding, limits=[*finding.limits, limit], confidence=sure)
