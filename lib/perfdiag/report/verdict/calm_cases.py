"""The verdict on a target without a fault that takes time: asleep, idle, computing, or unknown."""

from collections.abc import Sequence

from perfdiag.common.units import duration, share
from perfdiag.diagnosis.evidence.idle import work
from perfdiag.diagnosis.evidence.idle.work import is_idle
from perfdiag.diagnosis.evidence.requests.fast_answers import is_fast_server
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.diagnosis.rule import Finding, Mechanism, is_objective
from perfdiag.model.requests.request_time import ENOUGH_REQUESTS
from perfdiag.report.to_tell import to_tell
from perfdiag.report.verdict import clear_of_fault, concerned_requests, unclaimed_time
from perfdiag.report.verdict.cases import Case
from perfdiag.report.verdict.outstanding_calls import questions_for_clients
from perfdiag.report.verdict.sentences import (
    CLIENTS_LOOK,
    NO_FAULT,
    Kind,
    full_thread,
    largest_found,
    lies_unread,
    next_step,
    perhaps,
    reasons,
    said,
    told,
    uncertain_ns,
)
from perfdiag.report.verdict.situation import RETRIED, Situation

MOST = 0.5  # of the busy time: what takes so much and cannot be told leaves the whole untold
WORKS = 0.25  # of the window: a job that does so much between its pauses is asked about for that
SLEEPS, IDLE, BLOCKED = "TARGET-SLEEPS", "TARGET-IDLE", "TARGET-BLOCKED-OR-IDLE"
ERRORS = "REQUEST-ERRORS"


def _is_unknown(it: Situation) -> bool:
    more = uncertain_ns(it.model) > max(it.model.busy_ns, idle_policy.idle_target_share * it.model.window_ns)
    return (more and not _answers_at_once(it)) or it.model.coverage.unexplained_share > MOST


def _answers_at_once(it: Situation) -> bool:
    """Return whether it has answered so many requests, nobody's was left, and they took so little time that what its
    threads are blocked in is none of their business."""
    many = sum(each.line.count for each in it.model.exchanges if each.from_outside) >= ENOUGH_REQUESTS
    return (many and it.are_prompt) or (is_fast_server(it.model) and not it.owed)


def _faults(it: Situation) -> list[str]:
    missed_only = all(is_objective(finding.id) for finding in it.faults)  # that tells of no cause
    return [*map(said, it.faults[:2]), *it.slept, *(it.look if missed_only else [])]


def _full_thread(it: Situation) -> list[str]:
    cannot = f"Cannot tell whether the others wait for it: {reasons(it.model)}."
    return [*map(told, full_thread(it.model, it.largest)), cannot, *next_step(it.model), *it.slept]


def _unknown(it: Situation) -> list[str]:
    cannot = f"Cannot tell: {reasons(it.model)}, more than all explained time."
    felt = it.model.busy_ns >= idle_policy.sleep_beside_faults_share * uncertain_ns(it.model)
    known = [sentence for each in it.largest if felt for sentence in largest_found(each)]
    return [cannot, *known, clear_of_fault.asked(it.model), *next_step(it.model), *it.slept]


def _recorded(it: Situation) -> list[str]:
    cannot = f"Cannot tell: perfdiag's own probes take {share(it.of_recording)} of the target's busy time."
    return [cannot, to_tell(again(it.model, "--no-apps"))]


# A target that is hardly busy: only requests that it has answered acquit it


def _asleep(it: Situation) -> list[str]:
    sleep_ns, advice = (it.sleep.ns, it.sleep.advice) if it.sleep else (0, "")
    others_ns = it.work_ns + it.model.ns("wait.child")
    others = (
        f"Apart from that sleep it waited {it.waits}, which is idle time, too."
        if others_ns >= idle_policy.sleep_beside_faults_share * sleep_ns
        else ""
    )
    if others_ns > 2 * sleep_ns:  # who looks after things, beside those who have none to do, needs no advice
        advice = ""
    return [*it.slept, advice, others, *map(said, it.named(BLOCKED)), *it.end]


def _who_sleeps(it: Situation) -> list[Finding]:
    return it.named(RETRIED) or it.named(SLEEPS)


def _asleep_meanwhile(it: Situation) -> list[str]:
    return ["Cannot tell whether it is the slow part.", *it.doubts, *it.slept, _advice(it), it.busy]


def _parked(it: Situation) -> list[str]:
    who = "".join(map(said, it.named(BLOCKED)))
    none = ": no work came" if it.work_ns and not work.senders(it.model) and not it.model.requests_left else ""
    also = f"The others waited {it.waits}{none}." if it.waits else ""
    return [
        f"Cannot tell: {who[:1].lower()}{who[1:]}",
        also,
        clear_of_fault.asked(it.model),
        *next_step(it.model),
        it.busy,
    ]


def _scheduler(it: Situation) -> list[str]:
    scheduler = work.scheduler(it.model)
    if scheduler is None:
        return []
    what = "no work came, or they sleep, or wait for each other or for another process"
    none = f"None of its {scheduler.tasks}s could run: {what}; no thread shows which."
    return [none, to_tell(scheduler.tells), _waited(it), *it.end]


def _no_work_came(it: Situation) -> list[str]:
    if asked := questions_for_clients(it.model):
        return [*asked, _waited(it), *it.end]
    came, look = "No work came.", f"It waited {it.waits}: look at who should send it."
    if lies := lies_unread(it.model):
        came, look = lies, _waited(it)
    elif work.got_work(it.model):
        came, look = "Little work came.", f"It waited {it.waits}: look at who sends it."
    if work.senders(it.model):
        came, look = _waited(it), work.senders(it.model)
    came = f"Otherwise {came[0].lower()}{came[1:]}" if it.stopped else came
    return [came, look, clear_of_fault.unproven(it.model), *it.end]


def _may_be_slow(it: Situation) -> list[str]:
    answered = "" if it.untimed else concerned_requests.answered(it.model)
    return ["Cannot tell whether it is the slow part.", *it.doubts, *it.untimed, answered, _waited(it), it.busy]


def _elsewhere(it: Situation) -> list[str]:
    answered = concerned_requests.answered(it.model)
    parts = ["This process is not the slow part.", *_errors(it), answered, *clear_of_fault.unseen(it.model)]
    return [*parts, f"Otherwise it waited {it.waits}.", CLIENTS_LOOK, *it.end]


# A target that is busy


def _hardly_busy(it: Situation) -> list[str]:
    hardly = f"Hardly busy, {duration(it.model.busy_ns)} in {duration(it.model.window_ns)}: it waited {it.waits}."
    unseen = _unseen(it) or [work.senders(it.model)]
    asked = questions_for_clients(it.model)
    return [*it.untimed, *asked, hardly, *_errors(it), *it.doubts, *unseen, *it.busiest, _no_fault(it)]


def _profile(it: Situation) -> list[str]:
    most_time = unclaimed_time.most_time(it.model, it.diagnosis, it.largest) if it.largest else ""
    fault = "" if it.is_untold else _no_fault(it)
    mostly_idle = it.waits and it.model.idle_ns > it.model.busy_ns and not it.sleep
    otherwise = f"Otherwise it waited {it.waits}." if mostly_idle else ""
    told = [*it.untimed, most_time, *it.busiest, *_errors(it), *it.doubts, fault]
    return [*told, *_unseen(it), *it.slept, otherwise]


def _sleeps_and_works(it: Situation) -> list[str]:
    parts = [*it.busiest, *it.slept] if _works(it) else [*it.slept, _advice(it), *it.busiest]
    return [*it.untimed, *parts, it.busy]


def _waits_beside_requests(it: Situation) -> bool:
    """Return whether its requests are fast, and what takes most of its time is a wait that none of them feels."""
    waits = any(finding.mechanism is not Mechanism.WORK for finding in it.largest)
    return waits and is_fast_server(it.model) and not it.owed and not it.doubts


def _beside_requests(it: Situation) -> list[str]:
    outside = [f"Outside of them: {told(each)}" for each in it.largest]
    return [concerned_requests.answered(it.model), *_errors(it), *outside, *it.slept]


def _kind(it: Situation) -> Kind:
    """Return whether what takes most of the busy time can be told, and whether most requests were timed."""
    return Kind.CANNOT_TELL if it.untimed or (it.is_untold and it.largest[0].share >= MOST) else Kind.PROFILE


# Sentences of several cases


def _advice(it: Situation) -> str:
    return it.sleep.advice if it.sleep else ""


def _works(it: Situation) -> bool:
    """Return whether it works for so much of the window that this is what its user waits for, whoever sleeps beside:
    for half of it, or for a quarter if most of that work is explained, or a tenth where only pauses lie between."""
    part = it.model.busy_ns / it.model.window_ns if it.model.window_ns else 0.0
    known = bool(it.largest) and it.largest[0].share >= MOST
    if it.sleep and it.sleep.between_jobs:
        return part >= idle_policy.job_share
    return part >= (WORKS if known else MOST)


def _unseen(it: Situation) -> list[str]:
    return work.untold_tasks(it.model) or perhaps(it.hidden)


def _errors(it: Situation) -> list[str]:
    return list(map(said, it.named(ERRORS)))


def _waited(it: Situation) -> str:
    return f"It waited {it.waits}."


def _no_fault(it: Situation) -> str:
    rowless = unclaimed_time.without_rows(it.model)[1]
    return rowless[:1].upper() + rowless[1:] or ("" if it.doubts or it.untimed or it.is_set_so else NO_FAULT)


def _idle(it: Situation) -> Sequence[Finding]:
    return it.named(IDLE)


def _largest(it: Situation) -> Sequence[Finding]:
    return it.largest


_ILL = (
    Case[Situation](
        "there are faults that take no time", lambda it: it.faults, Kind.CAUSE, _faults, lambda it: it.faults[:2]
    ),
    Case[Situation](
        "requests are slow, and were not followed",
        lambda it: it.not_followed,
        Kind.CANNOT_TELL,
        lambda it: [it.not_followed, *it.look, *it.slept, it.busy],
        _largest,
    ),
    Case[Situation](
        "the recording does not show what it waited for",
        lambda it: unclaimed_time.without_rows(it.model)[0] > MOST * it.model.busy_ns,
        Kind.CANNOT_TELL,
        lambda it: [f"Cannot tell: {unclaimed_time.without_rows(it.model)[1]}", *it.slept, it.busy],
        _largest,
    ),
    Case[Situation](
        "most is unknown beside a full thread",
        lambda it: _is_unknown(it) and full_thread(it.model, it.largest),
        Kind.CANNOT_TELL,
        _full_thread,
        _largest,
    ),
    Case[Situation]("most is unknown", _is_unknown, Kind.CANNOT_TELL, _unknown, _largest),
)
_IDLE = (
    Case[Situation](
        "idle: it sleeps while a request waits",
        lambda it: it.sleep is not None and it.sleep.serves and it.doubts,
        Kind.CANNOT_TELL,
        _asleep_meanwhile,
        _who_sleeps,
    ),
    Case[Situation]("idle: it sleeps", lambda it: it.sleep, Kind.PROFILE, _asleep, _who_sleeps),
    Case[Situation](
        "idle: threads may be stuck",
        lambda it: it.named(BLOCKED),
        Kind.CANNOT_TELL,
        _parked,
        lambda it: it.named(BLOCKED),
    ),
    Case[Situation](
        "idle: it waits for no work",
        lambda it: not it.work_ns,
        Kind.PROFILE,
        lambda it: [
            "Nothing abnormal, and hardly any work.",
            _waited(it) if it.waits else "Nothing shows what it waits for.",
            *it.end,
        ],
        _idle,
    ),
    Case[Situation](
        "idle: its runtime runs nothing", lambda it: work.scheduler(it.model), Kind.PROFILE, _scheduler, _idle
    ),
    Case[Situation](
        "idle: a database may wait for locks",
        lambda it: it.hidden,
        Kind.CANNOT_TELL,
        lambda it: [f"Cannot tell: {perhaps(it.hidden)[0]}", *perhaps(it.hidden)[1:], _waited(it), *it.end],
        lambda it: it.hidden,
    ),
    Case[Situation](
        "idle: it may be the slow part",
        lambda it: it.doubts or it.untimed or clear_of_fault.is_slow(it.model),
        Kind.CANNOT_TELL,
        _may_be_slow,
    ),
    Case[Situation](
        "idle: nothing shows that it answers",
        lambda it: clear_of_fault.asked(it.model) or clear_of_fault.unproven(it.model) or it.stopped,
        Kind.PROFILE,
        _no_work_came,
        _idle,
    ),
    Case[Situation]("idle: it has answered", lambda it: True, Kind.ELSEWHERE, _elsewhere),
)
_BUSY = (
    Case[Situation]("perfdiag is most of its work", lambda it: it.of_recording >= MOST, Kind.CANNOT_TELL, _recorded),
    Case[Situation](
        "its requests are fast, other threads wait", _waits_beside_requests, Kind.PROFILE, _beside_requests, _largest
    ),
    Case[Situation](
        "it sleeps for longer than it works",
        lambda it: it.sleep is not None and it.sleep.ns > it.model.busy_ns,
        _kind,
        _sleeps_and_works,
        _largest,
    ),
    Case[Situation](
        "it waits for a sleeper",
        lambda it: it.sleep and any(finding.mechanism is Mechanism.SLEEP for finding in it.largest),
        Kind.PROFILE,
        lambda it: [*it.busiest, _advice(it), it.busy],
        _largest,
    ),
    Case[Situation](
        "it is hardly busy",
        lambda it: (
            it.waits and not it.sleep and it.model.busy_ns < idle_policy.sleep_beside_faults_share * it.model.window_ns
        ),
        _kind,
        _hardly_busy,
        _largest,
    ),
    Case[Situation]("it is busy", lambda it: True, _kind, _profile, _largest),
)


def cases(it: Situation) -> tuple[Case[Situation], ...]:
    """Return what can be the case, in order: what is or may be ill, then what an idle or a busy target does."""
    return (*_ILL, *(_IDLE if is_idle(it.model) else _BUSY))
