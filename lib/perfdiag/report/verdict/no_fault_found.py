"""The verdict on a target without a fault that takes time: asleep, idle, computing, or unknown.

The first case of `CASES` that holds decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfdiag.common.units import duration
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Finding, Mechanism, is_objective
from perfdiag.model.model import Model
from perfdiag.report import contract
from perfdiag.report.to_tell import to_tell
from perfdiag.report.verdict import clear_of_fault, not_busy, unclaimed_time
from perfdiag.report.verdict.cases import Case, decided
from perfdiag.report.verdict.sentences import (
    CLIENTS_LOOK,
    IDLE,
    Kind,
    largest_found,
    next_step,
    reasons,
    said,
    told,
    verdict,
)
from perfdiag.report.verdict.situation import Situation

NO_FAULT = "Nothing abnormal was found."
MOST = 0.5  # of the busy time: what takes so much and cannot be told leaves the whole untold


def without_time(
    model: Model, diagnosis: Diagnosis, faults: Sequence[Finding], unknown_ns: int, acquit: bool
) -> contract.Verdict:
    """Return the verdict if no fault claims time; `acquit`: nothing else prevents saying that it waits for work."""
    situation = Situation(model, diagnosis, faults, unknown_ns, acquit)
    return decided(CASES, situation)


# What is or may be ill


def _say_faults(it: Situation) -> contract.Verdict:
    found = it.faults[:2]
    missed_only = all(is_objective(finding.id) for finding in it.faults)  # that tells of no cause
    return verdict(Kind.CAUSE, [*map(said, found), *it.slept, *(_look(it) if missed_only else [])], found)


def _say_not_followed(it: Situation) -> contract.Verdict:
    return verdict(Kind.CANNOT_TELL, [it.not_followed, *_look(it), *it.slept, it.busy], it.first)


def _is_without_rows(it: Situation) -> bool:
    return it.without_rows[0] > MOST * it.model.busy_ns


def _say_without_rows(it: Situation) -> contract.Verdict:
    return verdict(Kind.CANNOT_TELL, [f"Cannot tell: {it.without_rows[1]}", *it.slept, it.busy], it.first)


def _is_unknown(it: Situation) -> bool:
    more = it.unknown_ns > max(it.model.busy_ns, IDLE * it.model.window_ns)
    return more or it.model.coverage.unexplained_share > MOST


def _say_full_thread(it: Situation) -> contract.Verdict:
    cannot = f"Cannot tell whether the others wait for it: {reasons(it.model, it.unknown_ns)}."
    full = [told(it.full)] if it.full else []
    return verdict(Kind.CANNOT_TELL, [*full, cannot, *next_step(it.model), *it.slept], it.first)


def _say_unknown(it: Situation) -> contract.Verdict:
    cannot = f"Cannot tell: {reasons(it.model, it.unknown_ns)}, more than all explained time."
    known = largest_found(it.first) if it.model.busy_ns >= not_busy.FELT * it.unknown_ns else ""
    return verdict(Kind.CANNOT_TELL, [cannot, known, it.asked, *next_step(it.model), *it.slept], it.first)


# A target that is hardly busy: only requests that it has answered acquit it


def _is_idle(it: Situation) -> bool:
    return it.model.busy_ns <= IDLE * min(it.model.window_ns, it.model.wall_ns)


def _say_asleep(it: Situation) -> contract.Verdict:
    sleep = it.sleep
    assert sleep is not None
    others_ns = it.work_ns + it.model.ns("wait.child")
    others = (
        f"Apart from that sleep it waited {it.waits}, which is idle time, too."
        if others_ns >= not_busy.FELT * sleep.ns
        else ""
    )
    # Who looks after things, beside those who have none to do, needs no advice.
    advice = "" if others_ns > 2 * sleep.ns else sleep.advice
    return verdict(Kind.PROFILE, [sleep.sentence, advice, others, it.stuck if it.parked else "", *it.end])


def _say_parked(it: Situation) -> contract.Verdict:
    cannot = f"Cannot tell: {it.stuck[0].lower()}{it.stuck[1:]}"
    none = ": no work came" if it.work_ns and not it.senders else ""
    also = f"The others waited {it.waits}{none}." if it.waits else ""
    return verdict(Kind.CANNOT_TELL, [cannot, also, it.asked, *next_step(it.model), it.busy])


def _say_without_work(it: Situation) -> contract.Verdict:
    waited = _waited(it) if it.waits else "Nothing shows what it waits for."
    return verdict(Kind.PROFILE, ["Nothing abnormal, and hardly any work.", waited, *it.end])


def _has_scheduler(it: Situation) -> bool:
    return not_busy.scheduler(it.model) is not None


def _say_scheduler(it: Situation) -> contract.Verdict:
    scheduler = not_busy.scheduler(it.model)
    assert scheduler is not None
    what = "no work came, or they wait for each other or for another process"
    none = f"None of its {scheduler.tasks}s could run: {what}; no thread shows which."
    return verdict(Kind.PROFILE, [none, to_tell(scheduler.tells), _waited(it), *it.end])


def _say_perhaps_locks(it: Situation) -> contract.Verdict:
    return verdict(Kind.CANNOT_TELL, [f"Cannot tell: {it.hidden[0]}", *it.hidden[1:], _waited(it), *it.end])


def _may_be_slow(it: Situation) -> bool:
    return bool(it.doubts) or clear_of_fault.is_slow(it.model)


def _say_may_be_slow(it: Situation) -> contract.Verdict:
    answered = clear_of_fault.answered(it.model)
    parts = ["Cannot tell whether it is the slow part.", *it.doubts, answered, _waited(it), it.busy]
    return verdict(Kind.CANNOT_TELL, parts)


def _shows_no_answers(it: Situation) -> bool:
    return bool(it.asked or it.unproven) or not it.acquit


def _say_no_work_came(it: Situation) -> contract.Verdict:
    came, look = "No work came.", f"It waited {it.waits}: look at who should send it."
    if it.got_work:
        came, look = "Little work came.", f"It waited {it.waits}: look at who sends it."
    if it.senders:
        came, look = _waited(it), it.senders
    came = came if it.acquit else f"Otherwise {came[0].lower()}{came[1:]}"
    return verdict(Kind.PROFILE, [came, look, it.unproven, *it.end])


def _say_elsewhere(it: Situation) -> contract.Verdict:
    parts = ["This process is not the slow part.", clear_of_fault.answered(it.model), *clear_of_fault.unseen(it.model)]
    return verdict(Kind.ELSEWHERE, [*parts, f"Otherwise it waited {it.waits}.", CLIENTS_LOOK, *it.end])


# A target that is busy


def _sleeps_longer_than_it_works(it: Situation) -> bool:
    return it.sleep is not None and it.sleep.ns > it.model.busy_ns


def _say_sleeps_longer(it: Situation) -> contract.Verdict:
    advice = [it.sleep.advice] if it.sleep else []
    return verdict(_kind(it), [*it.slept, *advice, *it.busiest, it.busy], it.first)


def _waits_for_a_sleeper(it: Situation) -> bool:
    return it.sleep is not None and any(finding.mechanism is Mechanism.SLEEP for finding in it.first)


def _say_waits_for_a_sleeper(it: Situation) -> contract.Verdict:
    advice = [it.sleep.advice] if it.sleep else []
    return verdict(Kind.PROFILE, [*it.busiest, *advice, it.busy], it.first)


def _is_hardly_busy(it: Situation) -> bool:
    return bool(it.waits) and not it.sleep and it.model.busy_ns < not_busy.FELT * it.model.window_ns


def _say_hardly_busy(it: Situation) -> contract.Verdict:
    hardly = f"Hardly busy, {duration(it.model.busy_ns)} in {duration(it.model.window_ns)}: it waited {it.waits}."
    unseen = _unseen(it) or [it.senders]
    return verdict(Kind.PROFILE, [hardly, *it.doubts, *unseen, *it.busiest, _no_fault(it)], it.first)


def _is_untold(it: Situation) -> bool:
    return any(finding.mechanism is Mechanism.UNDETERMINED for finding in it.first)


def _kind(it: Situation) -> Kind:
    """Return whether what takes most of the busy time can be told."""
    return Kind.CANNOT_TELL if _is_untold(it) and it.first[0].share >= MOST else Kind.PROFILE


def _say_profile(it: Situation) -> contract.Verdict:
    most_time = unclaimed_time.most_time(it.model, it.diagnosis, it.first) if it.first else ""
    fault = "" if _is_untold(it) else _no_fault(it)
    mostly_idle = it.waits and it.model.idle_ns > it.model.busy_ns and not it.sleep
    otherwise = f"Otherwise it waited {it.waits}." if mostly_idle else ""
    return verdict(_kind(it), [most_time, *it.busiest, *it.doubts, fault, *_unseen(it), *it.slept, otherwise], it.first)


# Sentences of several cases


def _unseen(it: Situation) -> list[str]:
    return not_busy.untold_tasks(it.model) or it.hidden


def _look(it: Situation) -> list[str]:
    return not_busy.untold_tasks(it.model) or next_step(it.model)


def _waited(it: Situation) -> str:
    return f"It waited {it.waits}."


def _no_fault(it: Situation) -> str:
    rowless = it.without_rows[1]
    return rowless[:1].upper() + rowless[1:] or ("" if it.doubts else NO_FAULT)


CASES = (
    Case("there are faults that take no time", lambda it: bool(it.faults), _say_faults),
    Case("requests are slow, and were not followed", lambda it: bool(it.not_followed), _say_not_followed),
    Case("the recording does not show what it waited for", _is_without_rows, _say_without_rows),
    Case("most is unknown beside a full thread", lambda it: _is_unknown(it) and it.full is not None, _say_full_thread),
    Case("most is unknown", _is_unknown, _say_unknown),
    Case("idle: it sleeps", lambda it: _is_idle(it) and it.sleep is not None, _say_asleep),
    Case("idle: threads may be stuck", lambda it: _is_idle(it) and bool(it.parked), _say_parked),
    Case("idle: it waits for no work", lambda it: _is_idle(it) and not it.work_ns, _say_without_work),
    Case("idle: its runtime runs nothing", lambda it: _is_idle(it) and _has_scheduler(it), _say_scheduler),
    Case("idle: a database may wait for locks", lambda it: _is_idle(it) and bool(it.hidden), _say_perhaps_locks),
    Case("idle: it may be the slow part", lambda it: _is_idle(it) and _may_be_slow(it), _say_may_be_slow),
    Case("idle: nothing shows that it answers", lambda it: _is_idle(it) and _shows_no_answers(it), _say_no_work_came),
    Case("idle: it has answered", _is_idle, _say_elsewhere),
    Case("it sleeps for longer than it works", _sleeps_longer_than_it_works, _say_sleeps_longer),
    Case("it waits for a sleeper", _waits_for_a_sleeper, _say_waits_for_a_sleeper),
    Case("it is hardly busy", _is_hardly_busy, _say_hardly_busy),
    Case("it is busy", lambda it: True, _say_profile),
)


__all__ = ["CASES", "without_time"]
