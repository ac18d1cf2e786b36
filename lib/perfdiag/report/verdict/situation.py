"""The facts about a target and its findings, from which its verdict is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from perfdiag.common.units import duration, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.idle import sleeps, work
from perfdiag.diagnosis.evidence.requests.kept_objectives import SLO
from perfdiag.diagnosis.evidence.requests.untimed_requests import mostly_at_once, mostly_unsure
from perfdiag.diagnosis.evidence.target import CPU, LACKING_CPU
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.diagnosis.rule import (
    Confidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Role,
    Severity,
    account_of,
    is_objective,
)
from perfdiag.diagnosis.settings.unusual_settings import explained
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import counted
from perfdiag.recording.accounts import phrase_of
from perfdiag.report.verdict import clear_of_fault
from perfdiag.report.verdict.computing import KERNEL, OWN, computes, computes_in_both
from perfdiag.report.verdict.sentences import (
    left_unread,
    next_step,
    requests_not_followed,
    said,
    told,
    unanswered,
)

SHOWN = 3
MINOR = 0.25  # a fault of less stands behind what takes twice its time, though that is no fault
FAR_MORE = 5  # times of a fault's part: what is done that often helps more
LEADING = 0.5  # of what is known, and of the time in which somebody waited
SECOND_CAUSE = 0.1  # a second cause of less is not worth a word in the verdict


def outweighs(profile: Finding, fault: Finding) -> bool:
    """Return whether what is no fault takes far more time than a minor fault: fixing that would hardly help."""
    return fault.share < MINOR <= profile.share and profile.claimed_ns >= 2 * fault.taken_ns


def is_lack_of_cpu(fault: Finding) -> bool:
    """Return whether all that a fault takes is time without a CPU."""
    return bool(fault.claims) and all(account_of(claim) in LACKING_CPU for claim in fault.claims)


RETRIED, OVERSUBSCRIBED = "CALL-RETRIED", "CPU-OVERSUBSCRIBED"


@dataclass(frozen=True)
class Situation:
    """A target and its findings; its properties are computed once."""

    model: Model
    diagnosis: Diagnosis

    @cached_property
    def faults(self) -> list[Finding]:
        """What departs from a norm."""
        return [finding for finding in self.diagnosis.findings if finding.severity is not Severity.INFO]

    @cached_property
    def timed(self) -> list[Finding]:
        """The faults that take time, as ranked; behind the first, what is unsure stands last."""
        return sure_first([finding for finding in self.faults if finding.taken_ns])

    @property
    def largest(self) -> list[Finding]:
        """The largest finding that takes busy time, if there is any."""
        return [finding for finding in self.diagnosis.findings if finding.claimed_ns][:1]

    def named(self, id: str, mechanism: Mechanism | None = None) -> list[Finding]:
        """Return the finding of a rule, if there is one, of one mechanism or any."""
        found = (each for each in self.diagnosis.findings if each.id == id and mechanism in (None, each.mechanism))
        return list(found)[:1]

    @cached_property
    def stopped(self) -> list[Finding]:
        """That processes were stopped: then nothing else acquits the target."""
        return self.named("TARGET-STOPPED")

    @property
    def of_recording(self) -> float:
        """The part of the busy time that is inside perfdiag's own probes."""
        return CpuSamples(self.model).recording.share * self.model.ns(*CPU) / max(1, self.model.busy_ns)

    @cached_property
    def not_followed(self) -> str:
        """The sentence on requests that are slow or have no answer for unknown reasons, or ""."""
        if self.timed:
            return requests_not_followed(self.model, self.timed[0].taken_ns)
        return requests_not_followed(self.model, 0) or unanswered(self.model)

    @cached_property
    def doubts(self) -> list[str]:
        """Who may wait for its answer, or in it for their turn to call a peer."""
        limits = [each for each in self.named("CONCURRENCY-LIMIT") if each in self.faults and each not in self.causes]
        owed = [evidence.text for finding in self.named("ANSWER-OWED") for evidence in finding.evidence]
        return [*map(said, limits), *(f"{text}." for text in owed)]

    @cached_property
    def untimed(self) -> list[str]:
        """Why most requests were not timed, as a sentence: they share connections, or most messages may be none, and
        those that were timed are over the objective."""
        if several := mostly_at_once(self.model):
            return [f"Most requests may have come on {several}: none of these was timed."]
        perhaps = self.named(SLO, Mechanism.UNDETERMINED) if mostly_unsure(self.model) else []
        return [each.claim for each in perhaps]

    @property
    def missed(self) -> bool:
        """Whether an objective was missed."""
        return any(is_objective(each.id) for each in self.faults)

    @property
    def is_set_so(self) -> bool:
        """Whether a setting that is not usual explains the time of a finding."""
        return bool(explained(self.model, self.diagnosis.findings))

    @property
    def owed(self) -> bool:
        """Whether an objective was missed, or somebody still waits for an answer."""
        return bool(self.missed or unanswered(self.model) or left_unread(self.model))

    @property
    def are_prompt(self) -> bool:
        """Whether requests take so little time that it does not matter what that goes to, and nobody waits for one."""
        return clear_of_fault.are_prompt(self.model) and not self.owed

    # Of faults that take time; there is at least one then

    @property
    def cause(self) -> Finding:
        """The first cause."""
        return self.timed[0]

    @cached_property
    def causes(self) -> list[Finding]:
        """The first cause, and the second if it matters; what failed is told before them, whatever time it took."""
        first, second = self.timed[:1], [each for each in self.timed[1:2] if not _failed(each)]
        rivals = [each for each in second if each.role is self.cause.role or each.role is not Role.BACKGROUND]
        return [*first, *(each for each in rivals if each.share >= SECOND_CAUSE)]

    @property
    def starved_work(self) -> list[Finding]:
        """What it computes, where all that is wrong is a lack of CPU and no cause says what for: less computing makes
        less of the fault, too."""
        told = any(each.id == OVERSUBSCRIBED for each in self.causes)
        if not self.timed or told or not all(map(is_lack_of_cpu, self.causes)):
            return []
        computing = (each for each in self.diagnosis.findings if each.id in (OWN, KERNEL) and each.share >= MINOR)
        return [each for each in computing if each.severity is Severity.INFO][:1]

    @property
    def broke(self) -> bool:
        """Whether a process was killed, or something broke: what took time beside it can wait."""
        return _failed(self.cause)

    def failed(self, named: Sequence[Finding]) -> list[Finding]:
        """Failures that are not named as a cause: a killed process may have taken little time."""
        return [each for each in self.faults if each.severity is Severity.CRITICAL and each not in named][:2]

    def follow(self, failures: Sequence[Finding]) -> bool:
        """Whether what is critical comes from the first cause and is told after it: a limit that was reached (a full
        accept queue), beside the cause of most of the time. What failed (a killed process) is told first."""
        return (
            bool(failures and self.timed) and failures[0].mechanism is Mechanism.LIMIT and self.cause.share >= LEADING
        )

    @property
    def awaited_ns(self) -> int:
        """For how long requests were in progress; the whole window if that is unknown, or none were."""
        inside = self.model.requests_inside
        return sum(level.sum_ns for level in inside.levels) if inside and inside.levels else self.model.window_ns

    # Of time in which it is not busy

    @cached_property
    def sleep(self) -> sleeps.Sleep | None:
        """Who sleeps on a timer; beside faults or requests, only a thread that talks can delay others."""
        return sleeps.sleep(self.model, talking=bool(self.timed) or any(each.served for each in self.model.exchanges))

    @property
    def slept(self) -> list[str]:
        """The sentences on the call that fails before that sleep, unless it is told as a fault, and on the sleep, if
        there is one."""
        if self.sleep is None:
            return []
        look = f"; {self.sleep.look}" if self.sleep.look else ""
        retried = (f"{each.headline}." for each in self.named(RETRIED) if each.severity is Severity.INFO)
        return [*retried, f"{self.sleep.headline}{look}."]

    def slept_beside(self, named: Sequence[Finding]) -> list[str]:
        """The sentence on a sleep, unless it hardly matters or a named cause says it."""
        asleep = any(each.mechanism is Mechanism.SLEEP or each.id == RETRIED for each in named)
        felt = self.sleep and self.sleep.felt_ns >= idle_policy.sleep_beside_faults_share * self.model.window_ns
        return self.slept if felt and not asleep else []

    @property
    def hidden(self) -> list[Finding]:
        """The sentence on a database that may wait for locks while it looks idle."""
        return self.named("LOCK-CONTENTION", Mechanism.UNDETERMINED)

    @cached_property
    def waits(self) -> str:
        """What it waited for while idle."""
        return work.waits(self.model)

    @property
    def work_ns(self) -> int:
        """How long it waited for work."""
        return self.model.ns(*work.FOR_WORK, "wait.signal")

    @property
    def look(self) -> list[str]:
        """The sentence on what shows what its tasks or threads wait for."""
        return work.untold_tasks(self.model) or next_step(self.model)

    # Of its busy time

    @property
    def is_untold(self) -> bool:
        """Whether the largest finding cannot tell its own cause."""
        return any(finding.mechanism is Mechanism.UNDETERMINED for finding in self.largest)

    @property
    def busy(self) -> str:
        """For how long it was busy, as a sentence."""
        return f"It was busy for {duration(self.model.busy_ns)} of {duration(self.model.wall_ns)} of thread time."

    @property
    def end(self) -> list[str]:
        """The last sentences of a verdict on an idle target."""
        return [*self.doubts, clear_of_fault.asked(self.model), self.busy]

    @property
    def _computes_in_both(self) -> str:
        most = any(each.share >= LEADING for each in self.largest)
        return "" if most else computes_in_both(self.model)

    @property
    def _computes_too(self) -> list[Finding]:
        """What the kernel computes for it beside its own code, or the other way round, if that is much."""
        first = {each.id for each in self.largest}
        found = (each for each in self.diagnosis.findings if each.id in (OWN, KERNEL) and each.id not in first)
        return [each for each in found if first <= {OWN, KERNEL} and each.share >= MINOR][:1]

    @property
    def busiest(self) -> list[str]:
        """What most of the busy time is."""
        if computing := computes(self.model, self.largest) or self._computes_in_both:
            return [computing, *map(told, self._computes_too)]
        return [*map(told, self.largest), *_hottest(self.largest)] or [_largest_account(self.model)]


def sure_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with those of low confidence last, but for the first: what is unsure hides no known cause."""
    return [*findings[:1], *sorted(findings[1:], key=lambda each: each.confidence is Confidence.LOW)]


def _largest_account(model: Model) -> str:
    largest = next((total for name, total in model.accounts.items() if counted(name)), None)
    if largest is None:
        return "Nothing was busy."
    part = model.share(largest.account)
    how_much = "Most" if part > 0.5 else "The largest part"
    return f"{how_much} of its busy time: {phrase_of(largest.account)} ({largest.account} {share(part)})."


def _hottest(findings: Sequence[Finding]) -> list[str]:
    """Return the functions CPU time went to."""
    functions = [each.text for finding in findings for each in finding.evidence if each.kind is EvidenceKind.FUNCTIONS]
    return [f"Hottest: {text}." for text in functions[:1]]


def _failed(finding: Finding) -> bool:
    return finding.severity is Severity.CRITICAL and finding.mechanism is Mechanism.FAILED
