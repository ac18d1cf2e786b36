"""The verdict on a whole host: its faults, or that it has none."""

from __future__ import annotations

from perfdiag.common.units import duration, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model
from perfdiag.recording.accounts import phrase_of
from perfdiag.report import contract
from perfdiag.report.host_consumers import everyone
from perfdiag.report.verdict.fault_found import SECOND_CAUSE
from perfdiag.report.verdict.sentences import Kind, reasons, said, told, uncertain_ns, verdict

MOSTLY_UNKNOWN = 0.5


def decide(model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    """Name the faults that take time, the largest first; without any, say what the host was busy with."""
    if not model.wall_ns:
        return verdict(Kind.CANNOT_TELL, ["Cannot tell: no task of the host ran."])
    if model.coverage.unexplained_share > MOSTLY_UNKNOWN:
        return verdict(Kind.CANNOT_TELL, [f"Cannot tell: {reasons(model, uncertain_ns(model))}."])
    faults = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    timed = [finding for finding in faults if finding.claimed_ns]
    largest = _largest(model)
    if timed:
        named = [finding for finding in timed[:2] if finding is timed[0] or finding.share >= SECOND_CAUSE]
        kind = Kind.CAUSES if len(named) > 1 else Kind.CAUSE
        return verdict(kind, [*map(told, named), largest], named)
    if faults:
        return verdict(Kind.CAUSE, [*(said(each) for each in faults[:2]), largest], faults[:2])
    profile = list(diagnosis.findings[:1])
    return verdict(Kind.PROFILE, ["Nothing abnormal was found on this host.", largest, *map(told, profile)], profile)


def _largest(model: Model) -> str:
    """Return the largest account, and the process with most of it."""
    found = everyone(model)
    if found is None or not found.consumers:
        return f"No task was busy in {duration(model.window_ns)}."
    first = found.consumers[0]
    part = share(first.ns / model.busy_ns) if model.busy_ns else "all"
    who = "".join(f", most of it {each.comm} ({share(each.share)} of that)" for each in first.consumers[:1])
    return f"Most time: {phrase_of(first.account)} ({first.account} {part}){who}."


__all__ = ["decide"]
