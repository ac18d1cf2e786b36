"""The verdict: one of five kinds, and a cause only if the unknown does not outweigh it.

The first case of a table that holds decides.
"""

from collections.abc import Sequence

from perfdiag.common.units import share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Finding, Severity, is_objective
from perfdiag.model.model import Model
from perfdiag.report import contract
from perfdiag.report.verdict import calm_cases, fault_cases, host_cases, request_cases
from perfdiag.report.verdict.cases import Case, decided
from perfdiag.report.verdict.sentences import NO_FAULT, Kind, failed, said, told, worded
from perfdiag.report.verdict.situation import Situation


def _stopped(it: Situation) -> list[str]:
    others = [finding for finding in it.faults if finding not in it.stopped]
    found = ", ".join(f"{finding.name} ({share(finding.share)})" for finding in others[:2])
    return [*map(told, it.stopped), f"Other findings may follow from that: {found}." if found else ""]


BEFORE_ALL = (
    Case[Situation](
        "nothing was measured",
        lambda it: not it.model.wall_ns,
        Kind.CANNOT_TELL,
        lambda it: ["Cannot tell: nothing of the target was measured."],
    ),
    Case[Situation](
        "a process is stopped",
        lambda it: any(finding.severity is not Severity.INFO for finding in it.stopped),
        Kind.CAUSE,
        _stopped,
        lambda it: [*it.stopped, *(finding for finding in it.faults if finding not in it.stopped)],
    ),
)


def decide(model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    """Weigh the findings against the unknown; stops and failures come first, whatever time they take."""
    if model.host:
        return decided(host_cases.CASES, Situation(model, diagnosis))
    if model.request_time:
        requests = request_cases.Requests(model, diagnosis, model.request_time)
        failures = [each for each in requests.failed(requests.timed) if each not in requests.stopped][:1]
        made = _with_faults(requests, decided(request_cases.CASES, requests))
        return _with_objective(_behind(requests, made, failures), requests)
    it = Situation(model, diagnosis)
    made = decided((*BEFORE_ALL, *(fault_cases.CASES if it.timed else calm_cases.cases(it))), it)
    return _with_objective(_behind(it, made, []), it)


def _with_faults(it: Situation, made: contract.Verdict) -> contract.Verdict:
    """Return a verdict on what requests spend their time in, or, where something is wrong that takes none or little of
    it, as answers that are errors, the verdict on that."""
    wrong = [each for each in it.faults if not is_objective(each.id) and each.severity is not Severity.CRITICAL]
    if made.kind != Kind.PROFILE.value or not wrong:
        return made
    parts = [*map(said, wrong[:2]), *(each for each in made.sentences if each != NO_FAULT)]
    return worded(Kind.CAUSE, parts, [each.id for each in wrong], before=made)


def _behind(it: Situation, made: contract.Verdict, failures: Sequence[Finding]) -> contract.Verdict:
    """Return a verdict behind a stop that it does not speak of, and behind failures."""
    stopped = [finding for finding in it.stopped if finding.id not in made.ids and not finding.claimed_ns]
    ids = [finding.id for finding in (*stopped, *failures)]
    kind = Kind.CAUSE if failures and not it.timed else Kind(made.kind)
    first = made.sentences[: it.follow(failures)]
    parts = [*map(said, stopped), *first, *map(failed, failures), *made.sentences[len(first) :]]
    return worded(kind, parts, [*ids, *made.ids], before=made)


def _with_objective(found: contract.Verdict, it: Situation) -> contract.Verdict:
    """Return the verdict, with the operations that missed their objective after its causes."""
    breach = next((finding for finding in it.diagnosis.findings if is_objective(finding.id)), None)
    if breach is None or breach.id in found.ids:
        return found
    causes = 2 if found.kind in (Kind.CAUSES.value, Kind.ELSEWHERE.value) else 1  # sentences
    parts = found.sentences
    return worded(Kind(found.kind), [*parts[:causes], said(breach), *parts[causes:]], found.ids, before=found)
