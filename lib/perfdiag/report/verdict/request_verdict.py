"""The verdict on a target that serves requests: what the requests wait for, whatever else its threads do."""

from __future__ import annotations

from perfdiag.common.units import duration, first_of, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Confidence, Finding, Severity, is_elsewhere, is_objective
from perfdiag.model.model import Model
from perfdiag.model.requests.request_sums import PARKED, QUEUED, REST
from perfdiag.model.requests.request_time import RequestTime, beyond
from perfdiag.recording.accounts import phrase_of
from perfdiag.report import contract
from perfdiag.report.verdict import clear_of_fault
from perfdiag.report.verdict.computing import computes
from perfdiag.report.verdict.fault_found import SECOND_CAUSE
from perfdiag.report.verdict.sentences import (
    CLIENTS_LOOK,
    Kind,
    failed,
    largest_found,
    left_unread,
    lost_share,
    next_step,
    perhaps_locks,
    said,
    stop_of,
    told,
    unanswered,
    verdict,
    worded,
)
from perfdiag.report.verdict.verdict import with_objective

LEADING = 0.5  # of the requests' time
SHOWN = 3  # accounts of readers
# Accounts in which a thread that serves a request waits, and nothing says for what.
UNTOLD = {PARKED: "are blocked or idle", "wait.events": "wait for events", "wait.signal": "wait for signals"}


def decide(model: Model, time: RequestTime, diagnosis: Diagnosis) -> contract.Verdict:
    """Name what takes the requests' time; without a fault, say how fast they are answered."""
    stop = stop_of(diagnosis)
    begin = [said(stop)] if stop and not stop.claimed_ns else []
    faults = [finding for finding in diagnosis.findings if finding.severity is not Severity.INFO]
    timed = [finding for finding in faults if finding.share >= SECOND_CAUSE]
    broken = [finding for finding in faults if finding.severity is Severity.CRITICAL and finding not in timed]
    begin += [failed(finding) for finding in broken[:1]]
    made = _timed(model, time, timed) if timed else _no_fault(model, time, diagnosis)
    named = [finding.id for finding in broken[:1]] + made.ids
    kind = Kind.CAUSE if broken and not timed else Kind(made.kind)
    return with_objective(worded(kind, [*begin, *made.sentences], named, tells=made.tells), diagnosis)


def _timed(model: Model, time: RequestTime, timed: list[Finding]) -> contract.Verdict:
    first, second = timed[0], timed[1] if len(timed) > 1 else None
    explained_ns = sum(finding.claims.get(REST, 0) for finding in timed)  # of what was not followed
    unknown_ns = min(time.ns, time.uncertain_ns - explained_ns + round(lost_share(model) * time.ns))
    gap_ns = first.claimed_ns - (second.claimed_ns if second else 0)
    answers = _answers(model)
    if unknown_ns > gap_ns and unknown_ns > first.claimed_ns:
        cannot = f"Cannot tell: {duration(unknown_ns)} of {duration(time.ns)} of request time could not be followed."
        return verdict(Kind.CANNOT_TELL, [cannot, largest_found(timed[:1]), *answers], timed[:1])
    unsure = "Probably: " if first.confidence is Confidence.LOW else ""
    theirs = is_elsewhere(first) and first.share >= LEADING and second is None and not unsure
    if theirs and not clear_of_fault.doubts(model):
        parts = ["This process is not the slow part.", told(first), *answers, *clear_of_fault.unseen(model)]
        return verdict(Kind.ELSEWHERE, parts, [first])
    if second:
        which = ["Their order is within measurement error."] if unknown_ns > gap_ns else []
        return verdict(Kind.CAUSES, [f"{unsure}{told(first)}", told(second), *which, *answers], timed[:2])
    return verdict(Kind.CAUSE, [f"{unsure}{told(first)}", *answers], [first])


def _no_fault(model: Model, time: RequestTime, diagnosis: Diagnosis) -> contract.Verdict:
    """Return that requests are answered as fast as the target's own code allows: any further delay is elsewhere."""
    largest = max(time.accounts, key=lambda name: time.accounts[name], default="")
    of = f"what those over the limit took {beyond(time.median_over)}" if time.excess else "it"
    part = f"{largest} {share(time.accounts[largest] / time.ns)}" if time.ns else ""
    most = f"The largest part of {of}: {phrase_of(largest)} ({part})." if time.ns else ""
    if time.uncertain_ns > LEADING * time.ns:
        return verdict(
            Kind.CANNOT_TELL,
            [f"Cannot tell: {share(time.uncertain_ns / time.ns)} of request time could not be followed.", most],
            [],
        )
    answers = _answers(model)
    if largest == QUEUED:
        return verdict(Kind.CANNOT_TELL, [f"Cannot tell why requests wait to be read{_readers(time)}.", most, *answers])
    if cannot := unanswered(model):
        return verdict(Kind.CANNOT_TELL, [cannot, *next_step(model), *answers])
    untold = [name for name in time.accounts if name in UNTOLD]
    untold_ns = sum(time.accounts[name] for name in untold)
    if untold_ns + time.uncertain_ns > LEADING * time.ns and not _explained(diagnosis):
        first = max(untold, key=lambda name: time.accounts[name])
        cannot = f"Cannot tell why: requests {UNTOLD[first]} for {share(time.accounts[first] / time.ns)} of their time."
        tells = perhaps_locks(diagnosis) or next_step(model)
        return verdict(Kind.CANNOT_TELL, [cannot, *tells, *answers])
    profile = [each for each in diagnosis.findings if not is_objective(each.id)][:1]  # that is said for itself
    missed = any(is_objective(each.id) and each.severity is not Severity.INFO for each in diagnosis.findings)
    if (computing := computes(model, profile)) and not missed:
        return verdict(Kind.PROFILE, [computing, *answers, CLIENTS_LOOK], profile)
    nothing = "No cause found." if missed else "Nothing abnormal was found."
    return verdict(Kind.PROFILE, [nothing, *answers, most, CLIENTS_LOOK, *map(told, profile)], profile)


def _readers(time: RequestTime) -> str:
    """Return what the threads that read them did meanwhile."""
    parts = time.met.others
    told = [f"{phrase_of(name)} {share(parts[name])}" for name in sorted(parts, key=lambda name: -parts[name])]
    return f"; their readers meanwhile: {first_of(told, SHOWN)}" if told else ""


def _explained(diagnosis: Diagnosis) -> bool:
    """Return whether something that is no fault takes most of the requests' time, such as waiting for news."""
    return any(finding.share > LEADING for finding in diagnosis.findings)


def _answers(model: Model) -> list[str]:
    """Return how long all requests took, and who may still wait."""
    return [clear_of_fault.answered(model), left_unread(model), *clear_of_fault.doubts(model)]


__all__ = ["decide"]
