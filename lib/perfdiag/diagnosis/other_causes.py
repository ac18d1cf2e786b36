"""Alternatives that another rule looks for: what that one has ruled out is offered to nobody."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from perfdiag.diagnosis.rule import Check, Finding, OtherCause


def with_other_causes(findings: Sequence[Finding], checks: Iterable[Check]) -> list[Finding]:
    """Return findings without causes that were ruled out, but for the part of these that no rule could see; of others
    with the id where there is such a finding."""
    found = {each.id for each in findings}
    ruled_out = {each.id for each in checks} - found
    return [
        replace(each, alternatives=list(filter(None, (_told(text, found, ruled_out) for text in each.alternatives))))
        for each in findings
    ]


def _told(alternative: str, found: Collection[str], ruled_out: Collection[str]) -> str:
    if not isinstance(alternative, OtherCause):
        return alternative
    if all(id in ruled_out for id in alternative.ids):
        return alternative.unseen
    ids = [id for id in alternative.ids if id in found]
    return f"{alternative}: see {', '.join(ids)}" if ids else str(alternative)
