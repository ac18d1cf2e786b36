"""The verdict on a target with faults that take time: its causes, as long as unknown time cannot hide a larger one.

If one cause is most of the known time and lasts as long as anybody waited, unknown time is mentioned beside it.
"""

from perfdiag.common.units import duration, share
from perfdiag.diagnosis.evidence.idle import work
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Role, Severity, is_elsewhere
from perfdiag.diagnosis.significance import lowered
from perfdiag.report.verdict import clear_of_fault, unclaimed_time
from perfdiag.report.verdict.cases import Case
from perfdiag.report.verdict.computing import computes_besides
from perfdiag.report.verdict.sentences import (
    CANNOT_TELL,
    Kind,
    failed,
    full_thread,
    largest_found,
    largest_known,
    next_step,
    of_busy_time,
    reasons,
    said,
    told,
    told_too,
    uncertain_ns,
)
from perfdiag.report.verdict.situation import FAR_MORE, LEADING, SECOND_CAUSE, Situation, outweighs


def _leads(it: Situation) -> bool:
    """Whether the first cause is most of the known time, and lasts for half of the time in which anybody waited:
    unknown time is then mentioned beside it, and makes it less certain."""
    if it.cause.role is Role.BACKGROUND or it.cause.confidence is Confidence.LOW:
        return False
    return it.cause.share >= LEADING and it.cause.taken_ns >= LEADING * it.awaited_ns


def _gaps(it: Situation) -> list[int]:
    return [_gap(first, second) for first, second in zip(it.timed, [*it.timed[1:], None], strict=True)]


def _returns(it: Situation) -> str:
    returns = it.cause.returns or of_busy_time(it.model, it.cause)
    return returns if len(it.causes) == 1 and it.cause.share and not it.broke else ""


def _outweighs(it: Situation) -> Finding | None:
    """What takes far more time than a minor first fault, so that fixing that fault would hardly help."""
    if it.cause.severity is Severity.CRITICAL:
        return None
    profile = (finding for finding in it.diagnosis.findings if finding.severity is Severity.INFO)
    largest = max(profile, key=lambda finding: finding.claimed_ns, default=it.cause)
    return largest if outweighs(largest, it.cause) else None


def _spoken_of(it: Situation) -> list[Finding]:
    return [*it.failed(it.causes), *it.causes]


def _kind(it: Situation) -> Kind:
    return Kind.CAUSES if len(it.causes) > 1 else Kind.CAUSE


def _told(it: Situation) -> list[str]:
    if len(it.causes) > 1 or not it.cause.claimed_ns:
        return [f"{_unsure(it)}{told(it.cause)}", *map(told_too, it.causes[1:])]
    return [f"{_unsure(it)}{said(it.cause)}"]


def _unsure(it: Situation) -> str:
    return "Probably: " if it.cause.confidence is Confidence.LOW else ""


def _gap(first: Finding, second: Finding | None) -> int:
    """Return how much time the second cause would need in addition to rank first. Suffering of background threads alone
    does not compete: it ranks below in any case."""
    if second is None or (second.role is Role.BACKGROUND and first.role is not Role.BACKGROUND):
        return first.taken_ns
    return first.taken_ns - second.taken_ns


def _is_unknown(it: Situation) -> bool:
    return uncertain_ns(it.model) > _gaps(it)[0]


def _only_their_order_is_unknown(it: Situation) -> bool:
    if not _is_unknown(it) or len(it.timed) == 1:
        return False
    return uncertain_ns(it.model) <= _gaps(it)[1] and uncertain_ns(it.model) < it.timed[1].taken_ns


def _leads_what_is_unknown(it: Situation) -> bool:
    return _leads(it) and (bool(it.not_followed) or _is_unknown(it)) and not _only_their_order_is_unknown(it)


def _leading(it: Situation) -> list[str]:
    """Name the cause of most of the known time, how certain it is, and what else is unknown."""
    unsure = "Probably: " if lowered(it.cause.confidence) is Confidence.LOW else ""
    unknown = f"Of other threads it is unknown what they wait for: {reasons(it.model)}." if _is_unknown(it) else ""
    beside = it.not_followed.removeprefix(CANNOT_TELL)
    beside = f"{beside[:1].upper()}{beside[1:]}"
    return [*_critical(it), f"{unsure}{told(it.cause)}", beside or unknown, *it.doubts, *it.slept_beside([it.cause])]


def _shown(it: Situation) -> list[Finding]:
    """Return the largest finding, and the first cause where that is another."""
    largest = max(it.diagnosis.findings, key=lambda finding: finding.claimed_ns)
    return [largest] if largest is it.cause else [largest, it.cause]


def _unknown(it: Situation) -> list[str]:
    why, shown = reasons(it.model), _shown(it)
    found = [f"Cannot tell: {why}, which may hide a larger cause.", *largest_found(shown[0], it.cause)]
    if full := full_thread(it.model, shown):
        found = [*map(told, full), f"Cannot tell what the others wait for: {why}."]
    return [*found, *next_step(it.model), *it.slept_beside(it.timed[:2])]


def _is_somebody_elses(it: Situation) -> bool:
    """Return whether waiting for others is most of the busy time, and no cause of the target's own matters."""
    if it.stopped or it.slept_beside([it.cause]) or it.doubts or it.failed([it.cause]):
        return False
    if not is_elsewhere(it.cause) or it.cause.confidence is Confidence.LOW:
        return False
    theirs_ns = sum(finding.claimed_ns for finding in it.timed if is_elsewhere(finding))
    own = max((finding.share for finding in it.timed if not is_elsewhere(finding)), default=0.0)
    return 2 * theirs_ns > it.model.busy_ns and own < SECOND_CAUSE


def _sleep_is_what_is_felt(it: Situation) -> bool:
    """Return whether a sleep makes the target slow: it is half of the window or more, and the fault hardly matters or
    affects the same threads in the little time they are awake. What is critical is told first, whatever else is."""
    if it.sleep is None or not it.slept_beside([it.cause]) or it.sleep.felt_ns < it.model.window_ns / 2:
        return False
    if it.cause.severity is Severity.CRITICAL:
        return False
    theirs = 2 * it.sleep.busy_ns >= it.model.busy_ns and it.sleep.ns >= 2 * it.cause.taken_ns
    return theirs or it.cause.taken_ns < idle_policy.sleep_beside_faults_share * it.model.window_ns


def _sleep(it: Situation) -> list[str]:
    part = f" ({share(it.cause.share)} of {duration(it.model.busy_ns)} busy time)" if it.cause.claimed_ns else ""
    first = f"{_unsure(it)}{it.cause.headline}{part}."
    advice = it.sleep.advice if it.sleep else ""
    return [*_critical(it), *it.slept, advice, first, *map(told_too, it.causes[1:])]


def _sleep_is_longer(it: Situation) -> bool:
    if it.sleep is None or not it.slept_beside([it.cause]):
        return False
    return it.sleep.felt_ns >= max(it.model.window_ns / 2, it.cause.taken_ns)


def _most_of_all(it: Situation) -> list[Finding]:
    """What is no fault, where it is most of the time: how to make it faster is what helps then."""
    more = _outweighs(it)
    return [more] if more is not None and _comes_first(it, more) else []


def _comes_first(it: Situation, more: Finding) -> bool:
    """Whether what is no fault is told before the faults: it is most of the time, or somebody can do less of it, and it
    takes so many times as much as they do."""
    many = more.mechanism is Mechanism.MANY and more.share >= FAR_MORE * it.cause.share
    return more.share >= LEADING or many


def _outweighed(it: Situation) -> list[str]:
    """Say what is most of the time first; what is less comes behind the faults, which somebody can mend."""
    more = _outweighs(it)
    if more is None:
        return []
    fault = "" if more.mechanism is Mechanism.UNDETERMINED else ", no fault in itself"
    profile = f"{more.headline} ({share(more.share)}){fault}."
    if _comes_first(it, more):
        return [*_critical(it), profile, f"A smaller fault: {told_too(it.cause)}", *it.slept_beside([it.cause])]
    faults = [told(it.cause), *map(told_too, it.causes[1:])]
    return [*_critical(it), *faults, f"More time: {profile}", *it.slept_beside([it.cause])]


def _critical(it: Situation) -> list[str]:
    """Return that something failed."""
    broken = it.failed(it.causes)
    return [*map(failed, broken[:1]), *(f"Also critical: {each.name}." for each in broken[1:])]


def _most_time(it: Situation) -> str:
    return "" if it.cause.idle_ns or it.broke else unclaimed_time.most_time(it.model, it.diagnosis, it.causes)


def _hardly_busy(it: Situation) -> str:
    """Return that the first cause is part of a time that hardly matters, or of threads that hardly work."""
    model, waits = it.model, work.waits(it.model, 1)
    enough_ns = min(
        idle_policy.sleep_beside_faults_share * model.window_ns, idle_policy.sleep_alone_share * model.wall_ns
    )
    felt = it.cause.taken_ns >= idle_policy.sleep_alone_share * model.window_ns and model.busy_ns >= enough_ns
    if felt or not waits or it.cause.idle_ns or it.broke:
        return ""
    return f"Hardly busy: {duration(model.busy_ns)} in {duration(model.window_ns)}; otherwise it waited {waits}."


CASES = (
    Case[Situation](
        "most of what is known is one cause",
        _leads_what_is_unknown,
        Kind.CAUSE,
        _leading,
        lambda it: [*it.failed([it.cause]), it.cause],
    ),
    Case[Situation](
        "requests are slow, and were not followed",
        lambda it: it.not_followed,
        Kind.CANNOT_TELL,
        lambda it: [it.not_followed, *work.untold_tasks(it.model), largest_known(it.cause)],
        lambda it: it.timed[:1],
    ),
    Case[Situation](
        "there are two causes, of unknown order",
        _only_their_order_is_unknown,
        Kind.CAUSES,
        lambda it: [
            *map(told, it.timed[:2]),
            "Their order is within measurement error.",
            *it.slept_beside(it.timed[:2]),
        ],
        lambda it: it.timed[:2],
    ),
    Case[Situation]("the unknown could be the cause", _is_unknown, Kind.CANNOT_TELL, _unknown, _shown),
    Case[Situation](
        "somebody else is slow",
        _is_somebody_elses,
        Kind.ELSEWHERE,
        lambda it: [told(it.cause), "This process is not the slow part.", *clear_of_fault.unseen(it.model)],
        lambda it: [it.cause],
    ),
    Case[Situation]("a sleep is what is felt", _sleep_is_what_is_felt, _kind, _sleep, lambda it: _spoken_of(it)),
    Case[Situation](
        "something that is no fault outweighs a minor one",
        _outweighs,
        _kind,
        _outweighed,
        lambda it: [*_spoken_of(it), *_most_of_all(it)],
    ),
    Case[Situation](
        "there are causes, and a longer sleep",
        _sleep_is_longer,
        _kind,
        lambda it: [
            *[*_critical(it), _told(it)[0], *it.slept_beside([it.cause]), *_told(it)[1:]],
            *[_hardly_busy(it), _most_time(it), *it.doubts],
        ],
        _spoken_of,
    ),
    Case[Situation](
        "there are causes",
        lambda it: True,
        _kind,
        lambda it: [
            *([*_told(it), *_critical(it)] if it.follow(it.failed(it.causes)) else [*_critical(it), *_told(it)]),
            computes_besides(it.model, it.diagnosis.findings),
            *[_hardly_busy(it), _most_time(it), *it.slept_beside([it.cause]), _returns(it), *it.doubts],
        ],
        _spoken_of,
    ),
)
