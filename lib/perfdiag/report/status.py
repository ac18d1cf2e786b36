"""The verdict in one word, at the right end of a report's first line."""

import msgspec

from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.evidence.idle.work import is_idle
from perfdiag.diagnosis.rule import Mechanism, Severity, is_objective
from perfdiag.model.model import Model
from perfdiag.report import contract
from perfdiag.report.verdict.clear_of_fault import are_prompt
from perfdiag.report.verdict.computing import MOST, computes_in_both
from perfdiag.report.verdict.sentences import NO_FAULT, Kind, worded
from perfdiag.report.verdict.situation import MINOR

CRITICAL, WARNING, BUSY, OK, IDLE_WORD, CANNOT_TELL = "critical", "warning", "busy", "ok", "idle", "cannot tell"
FAULTS = (CRITICAL, WARNING)
FAULTLESS = (BUSY, OK, IDLE_WORD)


def with_status(made: contract.Verdict, model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    """Return the verdict with its status: the worst severity of all findings, unless the cause is unknown."""
    return msgspec.structs.replace(made, status=_status(made, model, diagnosis))


def with_host_side(made: contract.Verdict, side: contract.HostSide | None) -> contract.Verdict:
    """Return the verdict on a guest, with what its host's recording finds if the guest itself shows no fault.

    If it is doubtful whether both recordings belong together, the host's says nothing about this guest.
    """
    ids = [each.id for each in side.findings if each.severity in FAULTS] if side and not side.notes else []
    if not ids or made.status not in FAULTLESS:
        return made
    sentences = [f"Its host finds {', '.join(ids)}, see below.", *made.sentences]
    text = " ".join([sentences[0], made.text])
    return msgspec.structs.replace(made, status=WARNING, sentences=sentences, text=text)


def without_given_up(made: contract.Verdict, model: Model) -> contract.Verdict:
    """Return the verdict; that nothing is wrong is not known of a target whose requests were given up in the window."""
    if made.status not in FAULTLESS or not model.gave_up_requests:
        return made
    known = [each for each in made.sentences if each != NO_FAULT]
    if made.status == BUSY:  # with what, is known
        told = worded(Kind(made.kind), known, made.ids, before=made)
        return msgspec.structs.replace(told, status=BUSY)
    cannot = "Cannot tell: its requests were given up, to keep --max-cost: they may be slow, or answered with errors."
    told = worded(Kind.CANNOT_TELL, [cannot, *known], made.ids, before=made)
    return msgspec.structs.replace(told, status=CANNOT_TELL)


def _status(made: contract.Verdict, model: Model, diagnosis: Diagnosis) -> str:
    severities = {finding.severity for finding in diagnosis.findings}
    if Severity.CRITICAL in severities:
        return CRITICAL
    if made.kind == Kind.CANNOT_TELL.value:
        return CANNOT_TELL
    if Severity.WARNING in severities or made.kind in (Kind.CAUSE.value, Kind.CAUSES.value):
        return WARNING
    if _is_idle(model):
        return IDLE_WORD
    return BUSY if _is_busy(made, model, diagnosis) else OK


def _is_idle(model: Model) -> bool:
    """Return whether the target did next to nothing, and answered no request."""
    answered = any(each.served and each.line.count for each in model.exchanges)
    return not answered and is_idle(model)


def _is_busy(made: contract.Verdict, model: Model, diagnosis: Diagnosis) -> bool:
    """Return whether one thing that the verdict names takes most of a long time, and nothing shows that this time is as
    short as it should be: prompt answers, or an objective that was kept. A thread that runs all the time is a limit in
    any case."""
    if made.kind != Kind.PROFILE.value or any(is_objective(each.id) for each in diagnosis.checks):
        return False
    most = next((each for each in diagnosis.findings if each.claimed_ns), None)
    named = most is not None and most.id in made.ids
    if most is not None and named and most.mechanism is Mechanism.ONE_THREAD:
        return True
    is_long = model.request_time is not None or model.busy_ns >= MOST * model.window_ns
    if are_prompt(model) or not is_long:
        return False
    least = MINOR if model.request_time else MOST  # of what requests wait for a quarter is worth a look
    return (most is not None and named and most.share >= least) or bool(computes_in_both(model))
