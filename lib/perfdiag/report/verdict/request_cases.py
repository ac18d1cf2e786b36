"""The verdict on a target that serves requests: what the requests wait for, whatever else its threads do."""

from dataclasses import dataclass
from functools import cached_property

from perfdiag.common.units import duration, first_of, share
from perfdiag.diagnosis.rule import Confidence, Finding, Severity, account_of, is_elsewhere
from perfdiag.diagnosis.settings.unusual_settings import explained
from perfdiag.model.requests.request_sums import QUEUED, REST
from perfdiag.model.requests.request_time import RequestTime, beyond
from perfdiag.recording.accounts import PARKED, phrase_of
from perfdiag.report.verdict import clear_of_fault, concerned_requests
from perfdiag.report.verdict.cases import Case
from perfdiag.report.verdict.computing import computes, computes_beside, computes_besides, computes_in_both
from perfdiag.report.verdict.outstanding_calls import outstanding_calls
from perfdiag.report.verdict.sentences import (
    CLIENTS_LOOK,
    NO_FAULT,
    Kind,
    largest_known,
    left_unread,
    lost_share,
    next_step,
    perhaps,
    told,
    told_too,
    unanswered,
)
from perfdiag.report.verdict.situation import LEADING, MINOR, SECOND_CAUSE, Situation, outweighs, sure_first

SHOWN = 3  # accounts of readers
# Accounts in which a thread that serves a request waits, and nothing says for what.
EVENTS = "wait.events"
UNTOLD = {PARKED: "are blocked or idle", EVENTS: "wait for events", "wait.signal": "wait for signals"}


@dataclass(frozen=True)
class Requests(Situation):
    """A target whose requests' time is known."""

    time: RequestTime

    @cached_property
    def timed(self) -> list[Finding]:
        """The faults that take a part of that time which is worth a word."""
        return sure_first([finding for finding in self.faults if finding.share >= SECOND_CAUSE])

    @property
    def untraced_ns(self) -> int:
        """How much of that time could hide another cause."""
        explained_ns = sum(finding.claims.get(REST, 0) for finding in self.timed)  # of what was not followed
        lost_ns = round(lost_share(self.model) * self.time.ns)
        return min(self.time.ns, self.time.uncertain_ns - explained_ns + self.unnamed_ns + lost_ns)

    @cached_property
    def unnamed_ns(self) -> int:
        """For how long requests were blocked or waited for events, and no finding says for what."""
        left = {name: self.time.accounts[name] for name in self.untold}
        for finding in self.diagnosis.findings:
            for claim, ns in finding.claims.items():
                if (account := account_of(claim)) in left:
                    left[account] -= ns
        return sum(max(0, ns) for ns in left.values())

    @property
    def unfollowed(self) -> str:
        """How much of that time is unknown, as a part of a sentence."""
        return f"{duration(self.untraced_ns)} of {duration(self.time.ns)} of request time has no known cause"

    @property
    def is_hidden(self) -> bool:
        """Whether what is unknown may hide a larger cause than the first one. Threads that suffer it outside of
        requests for most of the time in which requests were in progress, and for most of what is known, are what the
        unknown part waits for."""
        if not self.timed or self.untraced_ns <= self.cause.claimed_ns:
            return False
        known_ns, threads_ns = self.time.ns - self.untraced_ns, self.cause.claims.get(REST, 0)
        leads = threads_ns >= LEADING * self.awaited_ns and self.cause.claimed_ns >= LEADING * known_ns
        return not leads or self.cause.confidence is Confidence.LOW

    @property
    def gap_ns(self) -> int:
        """How much more the first cause takes than the second."""
        return self.timed[0].claimed_ns - sum(finding.claimed_ns for finding in self.timed[1:2])

    @cached_property
    def answers(self) -> list[str]:
        """How long requests took, those that the one cause concerns or all, and who may wait still: that is worth a
        word unless a cause has most of the time anyway."""
        cause = self.timed[0] if len(self.timed) == 1 else None
        leads = cause is not None and cause.share >= LEADING and cause.confidence is not Confidence.LOW
        doubts = [] if leads else self.doubts
        return [concerned_requests.answered(self.model, cause), left_unread(self.model), *doubts]

    @cached_property
    def account(self) -> str:
        """The account that most of that time is in."""
        return max(self.time.accounts, key=lambda name: self.time.accounts[name], default="")

    @property
    def most(self) -> str:
        """How much that is, as a sentence."""
        if not self.time.ns:
            return ""
        of = f"what those over the limit took {beyond(self.time.median_over)}" if self.time.excess else "it"
        return f"The largest part of {of}: {phrase_of(self.account)} ({self.account} {self.part(self.account)})."

    def part(self, account: str) -> str:
        """Return the part of that time in an account."""
        return share(self.time.accounts[account] / self.time.ns)

    @property
    def untold(self) -> list[str]:
        """The accounts in which requests wait, and nothing says for what."""
        return [name for name in self.time.accounts if name in UNTOLD]

    @property
    def is_untold(self) -> bool:
        """Whether that is most of the time, and nothing else explains as much, as waiting for news does."""
        ns = sum(self.time.accounts[name] for name in self.untold) + self.time.uncertain_ns
        return ns > LEADING * self.time.ns and not any(each.share > LEADING for each in self.diagnosis.findings)

    @property
    def profile(self) -> list[Finding]:
        """What takes most of that time and is no fault."""
        found = [each for each in self.diagnosis.findings if each.severity is Severity.INFO and each.claimed_ns]
        return sorted(found, key=lambda each: -each.claimed_ns)[:1]

    @property
    def set_so(self) -> list[str]:
        """The setting that explains most of the largest time that is no fault, as a sentence, or none."""
        reasons = explained(self.model, self.diagnosis.findings)
        found = (reasons.get(at) for at, each in enumerate(self.diagnosis.findings) if each in self.profile)
        return [f"{setting.text[:1].upper()}{setting.text[1:]}." for setting in found if setting]

    @property
    def most_is_no_fault(self) -> bool:
        """Whether that is most of the time, or more than any account has."""
        largest_ns = self.time.accounts.get(self.account, 0)
        return any(each.share >= LEADING or each.claimed_ns > largest_ns for each in self.profile)

    @property
    def proven(self) -> list[Finding]:
        """The first fault that takes time of requests, however little, but for failures: these are told anyway."""
        return [each for each in self.faults if each.claimed_ns and each.severity is not Severity.CRITICAL][:1]

    @property
    def minor(self) -> list[Finding]:
        """The first fault, where it is minor beside that: fixing it would hardly help."""
        first = [each for each in self.faults if each.claimed_ns][:1]
        return [fault for fault in first if any(outweighs(each, fault) for each in self.profile)]

    @property
    def larger(self) -> list[Finding]:
        """What takes more of that time than the first fault, and is none; or what needs the CPU that is lacking."""
        more = [each for each in self.profile if self.timed and each.claimed_ns > self.timed[0].claimed_ns]
        return more or self.starved_work


def _first(it: Requests) -> str:
    return f"{'Probably: ' if it.cause.confidence is Confidence.LOW else ''}{told(it.cause)}"


def _known(it: Requests) -> list[str]:
    """Say what is known where it is not enough: calls that are outstanding, before a cause that is unsure."""
    calls, known = outstanding_calls(it.model), largest_known(it.cause)
    return [*calls, known] if it.cause.confidence is Confidence.LOW else [known, *calls]


def _is_somebody_elses(it: Requests) -> bool:
    theirs = bool(it.timed) and is_elsewhere(it.cause) and it.cause.share >= LEADING and len(it.timed) == 1
    return theirs and it.cause.confidence is not Confidence.LOW and not it.doubts


def _unfollowed(it: Requests) -> list[str]:
    return [f"{it.unfollowed}."] if it.untraced_ns > it.cause.claimed_ns else []


def _two(it: Requests) -> list[str]:
    which = _unfollowed(it) or (["Their order is within measurement error."] if it.untraced_ns > it.gap_ns else [])
    return [_first(it), told_too(it.timed[1]), *map(told_too, it.starved_work), *which, *it.answers]


def _queued(it: Requests) -> list[str]:
    """Say that requests wait to be read, and what the threads that read them did meanwhile."""
    parts = it.time.met.others
    readers = first_of(
        [f"{phrase_of(name)} {share(parts[name])}" for name in sorted(parts, key=lambda name: -parts[name])], SHOWN
    )
    meanwhile = f"; their readers meanwhile: {readers}" if parts else ""
    return [f"Cannot tell why requests wait to be read{meanwhile}.", it.most, *it.answers]


def _untold(it: Requests) -> list[str]:
    first = max(it.untold, key=lambda name: it.time.accounts[name])
    cannot = f"Cannot tell why: requests {UNTOLD[first]} for {it.part(first)} of their time."
    beside = computes_beside(it.model, it.time.accounts[first]) if first == EVENTS else ""
    return [cannot, beside, *(perhaps(it.hidden) or next_step(it.model)), *it.answers]


def _beside_minor(it: Requests) -> list[str]:
    most = computes(it.model, it.profile) or told(it.profile[0])
    return [most, f"A smaller fault: {told_too(it.minor[0])}", *it.answers]


def _no_fault(it: Requests) -> list[str]:
    has_cause = it.most_is_no_fault or any(each.share >= MINOR for each in it.profile)
    missed = ["No cause found."] if it.missed and not has_cause else []
    if it.most_is_no_fault:
        return [*missed, *map(told, it.profile), *it.answers, CLIENTS_LOOK]
    if not it.missed and (both := computes_in_both(it.model)):
        return [both, *it.answers, CLIENTS_LOOK]
    if any(each.share >= MINOR for each in it.profile):
        return [*missed, *map(told, it.profile), *it.answers, it.most, CLIENTS_LOOK]
    nothing = missed or ([] if it.is_set_so else [NO_FAULT])
    return [*nothing, *it.answers, it.most, CLIENTS_LOOK, *map(told, it.profile)]


def _larger_or_besides(it: Requests) -> list[str]:
    return [told_too(each) for each in it.larger] or [computes_besides(it.model, it.diagnosis.findings)]


CASES = (
    Case[Requests](
        "what has no known cause is more than the cause",
        lambda it: it.is_hidden,
        Kind.CANNOT_TELL,
        lambda it: [f"Cannot tell: {it.unfollowed}.", *_known(it), *it.look, *it.answers],
        lambda it: it.timed[:1],
    ),
    Case[Requests](
        "somebody else is slow",
        _is_somebody_elses,
        Kind.ELSEWHERE,
        lambda it: [
            *[told(it.cause), "This process is not the slow part."],
            *[*it.answers, *clear_of_fault.unseen(it.model)],
        ],
        lambda it: [it.cause],
    ),
    Case[Requests](
        "most is no fault, beside a minor one",
        lambda it: it.minor,
        Kind.CAUSE,
        _beside_minor,
        lambda it: [*it.profile, *it.minor],
    ),
    Case[Requests](
        "there are two causes", lambda it: it.timed[1:], Kind.CAUSES, _two, lambda it: [*it.timed[:2], *it.starved_work]
    ),
    Case[Requests](
        "there is one cause",
        lambda it: it.timed,
        Kind.CAUSE,
        lambda it: [_first(it), *_larger_or_besides(it), *_unfollowed(it), *it.answers],
        lambda it: [*it.timed, *it.larger],
    ),
    Case[Requests](
        "requests are answered at once",
        lambda it: it.are_prompt,
        Kind.PROFILE,
        _no_fault,
        lambda it: it.profile,
    ),
    Case[Requests](
        "most has no known cause",
        lambda it: it.time.uncertain_ns > LEADING * it.time.ns,
        Kind.CANNOT_TELL,
        lambda it: [
            f"Cannot tell: {share(it.time.uncertain_ns / it.time.ns)} of request time has no known cause.",
            *map(largest_known, it.proven),
            computes_beside(it.model, it.time.accounts.get(REST, 0)),
            *[it.most if it.account != REST else "", *outstanding_calls(it.model), *it.look, *it.answers],
        ],
        lambda it: it.proven,
    ),
    Case[Requests]("requests wait to be read", lambda it: it.account == QUEUED, Kind.CANNOT_TELL, _queued),
    Case[Requests](
        "requests have no answer",
        lambda it: unanswered(it.model),
        Kind.CANNOT_TELL,
        lambda it: [unanswered(it.model), *next_step(it.model), *it.answers],
    ),
    Case[Requests]("requests wait, nothing says for what", lambda it: it.is_untold, Kind.CANNOT_TELL, _untold),
    Case[Requests](
        "it computes",
        lambda it: not it.missed and computes(it.model, it.profile),
        Kind.PROFILE,
        lambda it: [computes(it.model, it.profile, callers=not it.set_so), *it.set_so, *it.answers, CLIENTS_LOOK],
        lambda it: it.profile,
    ),
    Case[Requests]("there is no fault", lambda it: True, Kind.PROFILE, _no_fault, lambda it: it.profile),
)
