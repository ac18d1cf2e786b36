"""The verdict on a target with faults that take time: its causes, as long as unknown time cannot hide a larger one.

If one cause is most of the known time and lasts as long as anybody waited, unknown time is mentioned beside it. The
first case of `CASES` that holds decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from perfdiag.common.units import duration, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Role, Severity, is_elsewhere
from perfdiag.diagnosis.significance import lowered
from perfdiag.model.model import Model
from perfdiag.report import contract
from perfdiag.report.verdict import clear_of_fault, not_busy, unclaimed_time
from perfdiag.report.verdict.cases import Case, decided
from perfdiag.report.verdict.sentences import (
    CANNOT_TELL,
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
)

LEADING = 0.5  # of what is known, and of the time in which somebody waited
SECOND_CAUSE = 0.1  # a second cause of less is not worth a word in the verdict
MINOR = 0.25  # a fault of less stands behind what takes twice its time, though that departs from no norm


@dataclass(frozen=True)
class Faults:
    """A target with faults that take time; its properties are computed once."""

    model: Model
    diagnosis: Diagnosis
    faults: Sequence[Finding]
    timed: Sequence[Finding]  # those that take time, as ranked; at least one
    acquit: bool  # nothing else forbids to say that somebody else is slow

    @property
    def first(self) -> Finding:
        """The first cause."""
        return self.timed[0]

    @cached_property
    def unknown_ns(self) -> int:
        """The time that could hide another cause."""
        return uncertain_ns(self.model)

    @cached_property
    def not_followed(self) -> str:
        """That requests took far longer than what was found."""
        return requests_not_followed(self.model, self.first.taken_ns)

    @cached_property
    def leads(self) -> bool:
        """Whether the first cause is most of the known time, and lasts for half of the time in which anybody waited:
        unknown time is then mentioned beside it, and makes it less certain."""
        if self.first.role is Role.BACKGROUND or self.first.confidence is Confidence.LOW:
            return False
        inside = self.model.requests_inside
        awaited_ns = sum(level.sum_ns for level in inside.levels) if inside else 0
        long_ns = LEADING * (awaited_ns or self.model.window_ns)
        return self.first.share >= LEADING and self.first.taken_ns >= long_ns

    @property
    def gaps(self) -> list[int]:
        """How much time each would need in addition to rank before the one above."""
        return [_gap(first, second) for first, second in zip(self.timed, [*self.timed[1:], None], strict=True)]

    @cached_property
    def causes(self) -> list[Finding]:
        """The first cause, and the second if it matters."""
        rivals = [each for each in self.timed[1:2] if each.role is self.first.role or each.role is not Role.BACKGROUND]
        return [self.first, *(each for each in rivals if each.share >= SECOND_CAUSE)]

    @property
    def kind(self) -> Kind:
        """Whether that is one cause or several."""
        return Kind.CAUSES if len(self.causes) > 1 else Kind.CAUSE

    @property
    def told(self) -> list[str]:
        """What the causes are."""
        unsure = "Probably: " if self.first.confidence is Confidence.LOW else ""
        if len(self.causes) > 1:
            return [f"{unsure}{told(self.first)}", *map(told, self.causes[1:])]
        return [f"{unsure}{said(self.first) if self.first.claimed_ns else told(self.first)}"]

    @property
    def returns(self) -> str:
        """What fixing the only cause saves."""
        returns = self.first.returns or of_busy_time(self.model, self.first)
        return returns if len(self.causes) == 1 and self.first.share else ""

    @cached_property
    def sleep(self) -> not_busy.Sleep | None:
        """Who sleeps on a timer."""
        return not_busy.sleep(self.model, beside_faults=True)

    def slept(self, named: Sequence[Finding]) -> list[str]:
        """The sentence on a sleep, unless it hardly matters or a named cause says it."""
        asleep = any(each.mechanism is Mechanism.SLEEP for each in named)
        if self.sleep is None or self.sleep.felt_ns < not_busy.FELT * self.model.window_ns or asleep:
            return []
        return [self.sleep.sentence]

    @cached_property
    def beside(self) -> list[str]:
        """The same sentence, beside the first cause."""
        return self.slept([self.first])

    @cached_property
    def waiting(self) -> list[str]:
        """Sentences on clients that may wait for the target's answer."""
        return clear_of_fault.doubts(self.model)

    def failed(self, named: Sequence[Finding]) -> list[Finding]:
        """Failures that are not named as a cause: a killed process may have taken little time."""
        return [each for each in self.faults if each.severity is Severity.CRITICAL and each not in named]

    @property
    def named(self) -> list[Finding]:
        """All findings that the verdict mentions."""
        return [*self.failed(self.causes)[:2], *self.causes]

    @property
    def critical(self) -> list[str]:
        """That something failed."""
        broken = self.failed(self.causes)[:2]
        return [*map(failed, broken[:1]), *(f"Also critical: {each.id}." for each in broken[1:])]

    @cached_property
    def outweighs(self) -> Finding | None:
        """What takes far more time than a minor first fault, so that fixing that fault would hardly help."""
        if self.first.severity is Severity.CRITICAL:
            return None
        profile = (finding for finding in self.diagnosis.findings if finding.severity is Severity.INFO)
        largest = max(profile, key=lambda finding: finding.claimed_ns, default=self.first)
        is_more = self.first.share < MINOR <= largest.share and largest.claimed_ns >= 2 * self.first.taken_ns
        return largest if is_more else None


def with_time(
    model: Model, diagnosis: Diagnosis, faults: Sequence[Finding], timed: Sequence[Finding], acquit: bool
) -> contract.Verdict:
    """Return the verdict if faults claim time; `acquit`: nothing else prevents saying that another process is slow."""
    return decided(CASES, Faults(model, diagnosis, faults, timed, acquit))


def _leads_what_is_unknown(it: Faults) -> bool:
    return it.leads and (bool(it.not_followed) or _is_unknown(it)) and not _only_their_order_is_unknown(it)


def _say_leading(it: Faults) -> contract.Verdict:
    """Name the cause of most of the known time, how certain it is, and what else is unknown."""
    unsure = "Probably: " if lowered(it.first.confidence) is Confidence.LOW else ""
    unknown = f"Also unknown: {reasons(it.model, it.unknown_ns)}." if _is_unknown(it) else ""
    beside = it.not_followed.removeprefix(CANNOT_TELL)
    beside = f"{beside[:1].upper()}{beside[1:]}"
    parts = [*it.critical, f"{unsure}{told(it.first)}", beside or unknown, *it.waiting, *it.slept([it.first])]
    return verdict(Kind.CAUSE, parts, [*it.failed([it.first])[:2], it.first])


def _say_not_followed(it: Faults) -> contract.Verdict:
    parts = [it.not_followed, *not_busy.untold_tasks(it.model), largest_found(it.timed[:1])]
    return verdict(Kind.CANNOT_TELL, parts, it.timed[:1])


# What is not known could be a larger cause


def _is_unknown(it: Faults) -> bool:
    return it.unknown_ns > it.gaps[0]


def _only_their_order_is_unknown(it: Faults) -> bool:
    if not _is_unknown(it) or len(it.timed) == 1:
        return False
    return it.unknown_ns <= it.gaps[1] and it.unknown_ns < it.timed[1].taken_ns


def _say_order_is_unknown(it: Faults) -> contract.Verdict:
    both = it.timed[:2]
    parts = [*map(told, both), "Their order is within measurement error.", *it.slept(both)]
    return verdict(Kind.CAUSES, parts, both)


def _say_unknown(it: Faults) -> contract.Verdict:
    largest = max(it.diagnosis.findings, key=lambda finding: finding.claimed_ns)
    shown = [largest] if largest is it.first else [largest, it.first]
    why = reasons(it.model, it.unknown_ns)
    found = [f"Cannot tell: {why}, which may hide a larger cause.", largest_found(shown)]
    if full := full_thread(it.model, shown):
        found = [told(full), f"Cannot tell what the others wait for: {why}."]
    return verdict(Kind.CANNOT_TELL, [*found, *next_step(it.model), *it.slept(it.timed[:2])], shown)


def _gap(first: Finding, second: Finding | None) -> int:
    """Return how much time the second cause would need in addition to rank first. Suffering of background threads alone
    does not compete: it ranks below in any case."""
    if second is None or (second.role is Role.BACKGROUND and first.role is not Role.BACKGROUND):
        return first.taken_ns
    return first.taken_ns - second.taken_ns


# What is known


def _is_somebody_elses(it: Faults) -> bool:
    """Return whether waiting for others is most of the busy time, and no cause of the target's own matters."""
    if not it.acquit or it.beside or it.waiting or it.failed([it.first]):
        return False
    if not is_elsewhere(it.first) or it.first.confidence is Confidence.LOW:
        return False
    theirs_ns = sum(finding.claimed_ns for finding in it.timed if is_elsewhere(finding))
    own = max((finding.share for finding in it.timed if not is_elsewhere(finding)), default=0.0)
    return 2 * theirs_ns > it.model.busy_ns and own < SECOND_CAUSE


def _say_somebody_elses(it: Faults) -> contract.Verdict:
    parts = ["This process is not the slow part.", told(it.first), *clear_of_fault.unseen(it.model)]
    return verdict(Kind.ELSEWHERE, parts, [it.first])


def _sleep_is_what_is_felt(it: Faults) -> bool:
    """Return whether a sleep makes the target slow: it is half of the window or more, and the fault hardly matters or
    affects the same threads in the little time they are awake."""
    if it.sleep is None or not it.beside or it.sleep.felt_ns < it.model.window_ns / 2:
        return False
    theirs = 2 * it.sleep.busy_ns >= it.model.busy_ns and it.sleep.ns >= 2 * it.first.taken_ns
    return theirs or it.first.taken_ns < not_busy.FELT * it.model.window_ns


def _say_sleep(it: Faults) -> contract.Verdict:
    busy = f"{share(it.first.share)} of {duration(it.model.busy_ns)} busy time is {it.first.id}."
    advice = [it.sleep.sentence, it.sleep.advice] if it.sleep else []
    return verdict(it.kind, [*it.critical, *advice, busy, *it.told], it.named)


def _say_outweighed(it: Faults) -> contract.Verdict:
    profile = []
    if more := it.outweighs:
        fault = "" if more.mechanism is Mechanism.UNDETERMINED else ", no fault in itself"
        profile = [f"{more.headline} ({share(more.share)}){fault}."]
    parts = [*it.critical, *profile, f"The fault found: {told(it.first)}", *it.beside]
    return verdict(it.kind, parts, it.named)


def _sleep_is_longer(it: Faults) -> bool:
    if it.sleep is None or not it.beside:
        return False
    return it.sleep.felt_ns >= max(it.model.window_ns / 2, it.first.taken_ns)


def _say_causes_and_sleep(it: Faults) -> contract.Verdict:
    causes = it.told
    parts = [*it.critical, causes[0], *it.beside, *causes[1:], _hardly_busy(it), _most_time(it), *it.waiting]
    return verdict(it.kind, parts, it.named)


def _say_causes(it: Faults) -> contract.Verdict:
    behind = [_hardly_busy(it), _most_time(it), *it.beside, it.returns, *it.waiting]
    return verdict(it.kind, [*it.critical, *it.told, *behind], it.named)


def _most_time(it: Faults) -> str:
    return "" if it.first.idle_ns else unclaimed_time.most_time(it.model, it.diagnosis, it.causes)


def _hardly_busy(it: Faults) -> str:
    """Return that the first cause is part of a time that hardly matters, or of threads that hardly work."""
    model, waits = it.model, not_busy.waits(it.model, 1)
    enough_ns = min(not_busy.FELT * model.window_ns, not_busy.NOTICED * model.wall_ns)
    felt = it.first.taken_ns >= not_busy.NOTICED * model.window_ns and model.busy_ns >= enough_ns
    if felt or not waits or it.first.idle_ns:
        return ""
    return f"Hardly busy: {duration(model.busy_ns)} in {duration(model.window_ns)}; otherwise it waited {waits}."


CASES = (
    Case[Faults]("most of what is known is one cause", _leads_what_is_unknown, _say_leading),
    Case[Faults]("requests are slow, and were not followed", lambda it: bool(it.not_followed), _say_not_followed),
    Case[Faults]("there are two causes, of unknown order", _only_their_order_is_unknown, _say_order_is_unknown),
    Case[Faults]("the unknown could be the cause", _is_unknown, _say_unknown),
    Case[Faults]("somebody else is slow", _is_somebody_elses, _say_somebody_elses),
    Case[Faults]("a sleep is what is felt", _sleep_is_what_is_felt, _say_sleep),
    Case[Faults](
        "something that is no fault outweighs a minor one", lambda it: it.outweighs is not None, _say_outweighed
    ),
    Case[Faults]("there are causes, and a longer sleep", _sleep_is_longer, _say_causes_and_sleep),
    Case[Faults]("there are causes", lambda it: True, _say_causes),
)


__all__ = ["CASES", "SECOND_CAUSE", "with_time"]
