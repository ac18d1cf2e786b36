"""The verdict: one of five kinds, and a cause only if the unknown does not outweigh it (fault_found.py)."""

from __future__ import annotations

from perfdiag.common.units import share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Severity, is_objective
from perfdiag.model.model import Model
from perfdiag.report import contract
from perfdiag.report.verdict.fault_found import with_time
from perfdiag.report.verdict.no_fault_found import without_time
from perfdiag.report.verdict.sentences import (
    Kind,
    said,
    stop_of,
    told,
    uncertain_ns,
    verdict,
    worded,
)


def decide(model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    """Weigh the findings against the unknown, and add missed objectives."""
    return with_objective(_decided(model, diagnosis), diagnosis)


def _decided(model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    """Return the verdict on where the time went; a stopped target comes first."""
    if not model.wall_ns:
        return verdict(Kind.CANNOT_TELL, ["Cannot tell: nothing of the target was measured."])
    stop = stop_of(diagnosis)
    if stop is None:
        return _running(model, diagnosis, acquit=True)
    if stop.severity is not Severity.INFO:
        others = [each for each in diagnosis.findings if each.severity is not Severity.INFO and each is not stop]
        found = ", ".join(f"{finding.id} ({share(finding.share)})" for finding in others[:2])
        follows = f"Other findings may follow from that: {found}." if found else ""
        return verdict(Kind.CAUSE, [told(stop), follows], [stop, *others])
    other = _running(model, diagnosis, acquit=False)
    return worded(Kind(other.kind), [said(stop), *other.sentences], [stop.id, *other.ids], tells=other.tells)


def with_objective(found: contract.Verdict, diagnosis: Diagnosis) -> contract.Verdict:
    """Return the verdict, with the operations that missed their objective after its causes."""
    breach = next((finding for finding in diagnosis.findings if is_objective(finding.id)), None)
    if breach is None or breach.id in found.ids:
        return found
    causes = 2 if found.kind in (Kind.CAUSES.value, Kind.ELSEWHERE.value) else 1  # sentences
    parts = found.sentences
    return worded(Kind(found.kind), [*parts[:causes], said(breach), *parts[causes:]], found.ids, tells=found.tells)


def _running(model: Model, diagnosis: Diagnosis, *, acquit: bool) -> contract.Verdict:
    """Weigh the findings; a target that was stopped for a while is never ruled out."""
    faults = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    timed = [finding for finding in faults if finding.taken_ns]
    if not timed:
        return without_time(model, diagnosis, faults, uncertain_ns(model), acquit)
    return with_time(model, diagnosis, faults, timed, acquit)


__all__ = ["decide", "with_objective"]
