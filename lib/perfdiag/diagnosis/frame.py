"""The frame of a rule: what every finding gets from the time it claims and from the recording it stands on."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.rule import Claims, Confidence, Evidence, Finding, Mechanism, Other, Remedy, Severity
from perfdiag.diagnosis.significance import fault, lowered, recording_limits
from perfdiag.model.model import Model

_ARTICLES = ("a ", "an ", "the ")


def conclude(
    model: Model,
    claims: Claims,
    *,
    headline: str,
    claim: str,
    mechanism: Mechanism,
    evidence: Sequence[Evidence],
    remedies: Sequence[Remedy],
    departs: bool = True,
    severity: Severity | None = None,
    best: Confidence = Confidence.HIGH,
    doubts: Iterable[str] = (),
    ruled_out: Sequence[str] = (),
    alternatives: Sequence[str] = (),
    verify: str = "",
    returns: str = "",
    weight: float = 0,
    others: Sequence[Other] = (),
    inside: bool = False,
) -> Finding:
    """Return a finding of the rule that calls this; the engine adds the rule's id.

    Its severity follows from the time it claims, in ns; it is INFO unless that time `departs` from a norm.  A rule
    that knows better gives the `severity`.  Its confidence is the `best` the rule can have: one step lower for any
    `doubts` of the rule, and one more for a recording that lost records, was cut off, does not close or disagrees with
    its own stacks.
    """
    own, general = [doubt for doubt in doubts if doubt], recording_limits(model)
    if severity is None:
        severity = fault(model, sum(claims.values())) if departs else Severity.INFO
    return Finding(
        "",
        severity,
        lowered(best, bool(own) + bool(general)),
        claim,
        claims,
        evidence,
        remedies,
        ruled_out=ruled_out,
        alternatives=alternatives,
        limits=(*own, *general),
        verify=verify,
        returns=returns,
        weight=weight,
        others=others,
        inside=inside,
        headline=begun(headline),
        mechanism=mechanism,
    )


def begun(headline: str) -> str:
    """Return a headline as a sentence begins; names of processes, peers and code stay as they are."""
    return headline[:1].upper() + headline[1:] if headline.startswith(_ARTICLES) else headline
