"""Alternatives that another rule looks for: what that one has ruled out is offered to nobody."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from perfdiag.diagnosis.rule import Check, Finding, OtherCause


def with_other_causes(findings: Sequence[Finding], checks: Iterable[Check]) -> list[Finding]:
    """Return findings without causes that were ruled out; of others the id where there is such a finding."""
    found = {each.id for each in findings}
    ruled_out = {each.id for each in checks} - found

    def told(alternatives: Sequence[str]) -> list[str]:
        kept = [each for each in alternatives if not (_ids(each) and ruled_out.issuperset(_ids(each)))]
        return [_told(each, found) for each in kept]

    return [replace(each, alternatives=told(each.alternatives)) for each in findings]


def _ids(alternative: str) -> tuple[str, ...]:
    return alternative.ids if isinstance(alternative, OtherCause) else ()


def _told(alternative: str, found: Collection[str]) -> str:
    ids = [id for id in _ids(alternative) if id in found]
    return f"{alternative}: see {', '.join(ids)}" if ids else str(alternative)
