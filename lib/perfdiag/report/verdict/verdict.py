"""The verdict: one of five kinds, and a cause only when what is not known could not have been the cause."""

from __future__ import annotations

from collections.abc import Sequence

from perfdiag.common.units import duration, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Role, Severity, is_elsewhere, is_objective
from perfdiag.model.model import Model
from perfdiag.report import contract, database_lock_waits
from perfdiag.report.verdict import clear_of_fault, not_busy, stopped, unclaimed_time
from perfdiag.report.verdict.no_fault_found import without_time
from perfdiag.report.verdict.sentences import (
    Kind,
    failed,
    full_thread,
    largest_found,
    next_step,
    of_busy_time,
    reasons,
    requests_not_followed,
    said,
    told,
    uncertain_ns,
    verdict,
    worded,
)

SECOND_CAUSE = 0.1  # a second cause of less is not worth a word in the verdict
MINOR = 0.25  # a fault of less stands behind what takes twice its time, though that departs from no norm


def decide(model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    """Weigh the findings against what is not known, and add which objective was missed."""
    return with_objective(_decided(model, diagnosis), diagnosis)


def _decided(model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    """Return the verdict on where the time went; that the target was stopped stands before everything else."""
    if not model.wall_ns:
        return verdict(Kind.CANNOT_TELL, ["Cannot tell: nothing of the target was measured."])
    stop = stopped.stop(model)
    if stop is None:
        return _running(model, diagnosis, acquit=True)
    faults = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    if stop.lasts and 2 * stop.ns >= model.window_ns:
        found = ", ".join(f"{finding.id} ({share(finding.share)})" for finding in faults[:2])
        follows = f"What else was found may follow from that: {found}." if found else ""
        return verdict(Kind.CAUSE, [stop.sentence, follows], faults)
    other = _running(model, diagnosis, acquit=False)
    return worded(Kind(other.kind), [stop.sentence, *other.sentences], other.ids, tells=other.tells)


def with_objective(found: contract.Verdict, diagnosis: Diagnosis) -> contract.Verdict:
    """Return the verdict with the operations that missed their objective, which was asked for, behind its causes."""
    breach = next((finding for finding in diagnosis.findings if is_objective(finding.id)), None)
    if breach is None or breach.id in found.ids:
        return found
    causes = 2 if found.kind in (Kind.CAUSES.value, Kind.ELSEWHERE.value) else 1  # sentences
    parts = found.sentences
    return worded(Kind(found.kind), [*parts[:causes], said(breach), *parts[causes:]], found.ids, tells=found.tells)


def _running(model: Model, diagnosis: Diagnosis, *, acquit: bool) -> contract.Verdict:
    """Weigh the findings; a target that was stopped for a while is never acquitted."""
    faults = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    timed = [finding for finding in faults if finding.claimed_ns]
    unknown_ns = uncertain_ns(model)
    if not timed:
        return without_time(model, diagnosis, faults, unknown_ns, acquit)
    if not_followed := requests_not_followed(model, timed[0].claimed_ns):
        parts = [not_followed, *not_busy.untold_tasks(model), largest_found(timed[:1])]
        return verdict(Kind.CANNOT_TELL, parts, timed[:1])
    gaps = [_gap(first, second) for first, second in zip(timed, [*timed[1:], None], strict=True)]
    if unknown_ns <= gaps[0]:
        return _named(model, diagnosis, timed, faults, acquit)
    slept = _besides(model, timed[:2])
    if len(timed) > 1 and unknown_ns <= gaps[1] and unknown_ns < timed[1].claimed_ns:
        which = "Their order is within measurement error."
        return verdict(Kind.CAUSES, [told(timed[0]), told(timed[1]), which, *slept], timed[:2])
    largest = sorted(diagnosis.findings, key=lambda finding: -finding.claimed_ns)
    shown = largest[:1] if largest[0] is timed[0] else [largest[0], timed[0]]
    cannot = f"Cannot tell: {reasons(model, unknown_ns)}, which could hide a larger cause."
    found = [cannot, largest_found(shown)]
    if full := full_thread(model, shown):
        found = [told(full), f"Cannot tell what the others wait for: {reasons(model, unknown_ns)}."]
    return verdict(Kind.CANNOT_TELL, [*found, *next_step(model), *slept], list(shown))


def _gap(first: Finding, second: Finding | None) -> int:
    """Return how much time would have to be added to the second for it to stand before the first.

    What background threads alone suffer does not compete: whatever is added to it, it ranks below.
    """
    if second is None or (second.role is Role.BACKGROUND and first.role is not Role.BACKGROUND):
        return first.claimed_ns
    return first.claimed_ns - second.claimed_ns


def _named(
    model: Model, diagnosis: Diagnosis, timed: Sequence[Finding], faults: Sequence[Finding], acquit: bool
) -> contract.Verdict:
    first = timed[0]
    unsure = "Probably: " if first.confidence is Confidence.LOW else ""
    slept = _besides(model, timed[:1])
    hidden = database_lock_waits.leading(model)
    leads = hidden is not None and hidden.ns > first.claimed_ns
    waiting = clear_of_fault.doubts(model)
    acquit = acquit and not (slept or leads or waiting or _critical(faults, [first]))
    if acquit and _is_somebody_elses(model, timed):
        parts = ["This process is not the slow part.", told(first), *clear_of_fault.unseen(model)]
        return verdict(Kind.ELSEWHERE, parts, [first])
    rivals = [each for each in timed[1:2] if each.role is first.role or each.role is not Role.BACKGROUND]
    if rivals and rivals[0].share >= SECOND_CAUSE:
        kind, named = Kind.CAUSES, list(timed[:2])
        causes, returns = [f"{unsure}{told(first)}", told(timed[1])], ""
    else:
        kind, named = Kind.CAUSE, [first]
        causes, returns = [f"{unsure}{said(first)}"], first.returns or of_busy_time(model, first)
    most_time = unclaimed_time.most_time(model, diagnosis, named)
    broken = _critical(faults, named)[:2]
    critical = [failed(finding) for finding in broken[:1]]
    critical += [f"Also critical: {finding.id}." for finding in broken[1:]]
    named = [*broken, *named]
    sleep = not_busy.sleep(model, beside_faults=True)
    if sleep and slept and _sleeps_longer(model, sleep, first):
        busy = f"Of {duration(model.busy_ns)} of busy time {share(first.share)} is {first.id}."
        return verdict(kind, [*critical, sleep.sentence, sleep.advice, busy, *causes], named)
    looks_idle = [hidden.sentence, hidden.tells] if hidden else []
    proven, unproven = (looks_idle, []) if leads else ([], looks_idle)
    if outweighs := None if first.severity is Severity.CRITICAL else _outweighs(diagnosis, first):
        untold = outweighs.mechanism is Mechanism.UNDETERMINED
        profile = f"{outweighs.headline} ({share(outweighs.share)}){'' if untold else ', no fault in itself'}."
        parts = [*critical, *proven, profile, f"The fault found: {told(first)}", *unproven, *slept]
        return verdict(kind, parts, named)
    hardly = _hardly_busy(model, first)
    parts = [*critical, *proven, *causes, hardly, *unproven, most_time, *slept, returns]
    if sleep and slept and sleep.felt_ns >= max(model.window_ns / 2, first.claimed_ns):
        parts = [*critical, *proven, causes[0], *slept, *causes[1:], hardly, *unproven, most_time]
    return verdict(kind, [*parts, *waiting], named)


def _sleeps_longer(model: Model, sleep: not_busy.Sleep, first: Finding) -> bool:
    """Return whether a sleep is what makes the target slow: half of the window or more, and either the fault is hardly
    felt, or it is what the same threads suffer in the little time that they are awake."""
    if sleep.felt_ns < model.window_ns / 2:
        return False
    theirs = 2 * sleep.busy_ns >= model.busy_ns and sleep.ns >= 2 * first.claimed_ns
    return theirs or first.claimed_ns < not_busy.FELT * model.window_ns


def _critical(faults: Sequence[Finding], named: Sequence[Finding]) -> list[Finding]:
    """Return what has failed and is not named as a cause: little of the time may be a process that was killed."""
    return [finding for finding in faults if finding.severity is Severity.CRITICAL and finding not in named]


def _outweighs(diagnosis: Diagnosis, first: Finding) -> Finding | None:
    """Return what takes far more time than a minor first fault, so that mending that would hardly be felt."""
    profile = (finding for finding in diagnosis.findings if finding.severity is Severity.INFO)
    largest = max(profile, key=lambda finding: finding.claimed_ns, default=first)
    return largest if first.share < MINOR <= largest.share and largest.claimed_ns >= 2 * first.claimed_ns else None


def _hardly_busy(model: Model, first: Finding) -> str:
    """Return that the first cause is one of a time that is hardly felt, or of threads that hardly work."""
    waits, enough_ns = not_busy.waits(model, 1), min(not_busy.FELT * model.window_ns, not_busy.NOTICED * model.wall_ns)
    if (first.claimed_ns >= not_busy.NOTICED * model.window_ns and model.busy_ns >= enough_ns) or not waits:
        return ""
    return f"Hardly busy: {duration(model.busy_ns)} in {duration(model.window_ns)}, otherwise it waited {waits}."


def _is_somebody_elses(model: Model, timed: Sequence[Finding]) -> bool:
    """Whether waiting for others is most of the busy time, and no cause of the target's own is worth a word."""
    if not is_elsewhere(timed[0]) or timed[0].confidence is Confidence.LOW:
        return False
    theirs_ns = sum(finding.claimed_ns for finding in timed if is_elsewhere(finding))
    own = max((finding.share for finding in timed if not is_elsewhere(finding)), default=0.0)
    return 2 * theirs_ns > model.busy_ns and own < SECOND_CAUSE


def _besides(model: Model, named: Sequence[Finding]) -> list[str]:
    """Return that it sleeps by its own choice, unless that is hardly felt or already said."""
    sleep = not_busy.sleep(model, beside_faults=True)
    if (
        sleep is None
        or sleep.felt_ns < not_busy.FELT * model.window_ns
        or any(each.mechanism is Mechanism.SLEEP for each in named)
    ):
        return []
    return [sleep.sentence]


__all__ = ["SECOND_CAUSE", "decide", "with_objective"]
