"""The parts of verdicts: kinds, sentences, and what is unknown.

A verdict is made of sentences, the most important first: a renderer without room leaves out whole ones from the end.
"""

from collections.abc import Sequence
from enum import Enum

from perfdiag.common.text import printable
from perfdiag.common.units import duration, plural, share
from perfdiag.diagnosis.evidence.debuggers import has_ended, shows_stacks
from perfdiag.diagnosis.evidence.idle import parked_threads
from perfdiag.diagnosis.evidence.requests.places import places
from perfdiag.diagnosis.evidence.target import CPU
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.model.model import Model, once
from perfdiag.model.requests.request_time import ENOUGH_REQUESTS, SERVES
from perfdiag.model.share_denominator import REQUEST_TIME
from perfdiag.model.thread_accounts import ns_of
from perfdiag.recording.accounts import BY_NAME, PARKED
from perfdiag.report import contract
from perfdiag.report.to_tell import ToTell, to_tell
from perfdiag.report.verdict.concerned_requests import OfAll

SHOWN = 3  # ports
CLIENTS_LOOK = "If clients measure longer times, run perfdiag on what stands between them and this process."
CANNOT_TELL = "Cannot tell: "
NO_FAULT = "Nothing abnormal was found."
LONGEST_SENTENCE = 600
LONGEST_TEXT = 1000  # of a report, such as a claim
FULL = 0.95  # of the window


class Kind(Enum):
    """What a verdict can be."""

    CAUSE = "cause"
    CAUSES = "causes"
    ELSEWHERE = "elsewhere"  # this process is not the slow part
    PROFILE = "profile"  # busy, asleep on a timer or idle, but nothing departs from a norm
    CANNOT_TELL = "cannot tell"


@once
def uncertain_ns(model: Model) -> int:
    """Return the time that could hide another cause: unexplained, lost, nameless, or blocked without proof of a
    lock."""
    unknown_ns = model.ns("unexplained") + nameless_ns(model) + parked_threads.parked_ns(model)
    return unknown_ns + round(lost_share(model) * model.busy_ns)


def nameless_ns(model: Model) -> int:
    """Return the time in unknown accounts, as a newer recorder may have: no rule judges them."""
    return ns_of(model.accounts, *(name for name in model.accounts if name not in BY_NAME))


def lost_share(model: Model) -> float:
    """Return the part of all records that was lost, and time with them."""
    lost = model.coverage.lost_total
    kept = sum(total.count for total in model.accounts.values())
    return lost / (lost + kept) if lost else 0.0


def next_step(model: Model) -> list[str]:
    """Return the command that shows where blocked threads are, of the process with most of them."""
    parked = max(model.threads, key=lambda thread: thread.ns(PARKED), default=None)
    if parked is None or not parked.ns(PARKED):
        return []
    when = "while it runs: " if has_ended(model) else ""
    return [to_tell(f"{when}{shows_stacks(model, parked.pid)}")]


def reasons(model: Model) -> str:
    """Return why the verdict is unknown."""
    parts = []
    if "unexplained" in model.accounts:
        parts.append(f"{duration(model.accounts['unexplained'].ns)} unexplained")
    if nameless := nameless_ns(model):
        parts.append(f"{duration(nameless)} in states that this version does not know")
    parts += _parked(model)
    if lost_share(model):
        parts.append(f"{plural(model.coverage.lost_total, 'record')} lost")
    return ", ".join(parts) or f"{duration(uncertain_ns(model))} unknown"


def _parked(model: Model) -> list[str]:
    """Return how long threads were blocked, those in calls that receive apart."""
    whole_ns, (received_ns, calls) = parked_threads.parked_ns(model), parked_threads.received(model)
    parts = [(received_ns, f"in {calls}, for work or for an answer")]
    parts.append((whole_ns - received_ns, "blocked or idle (unknown)"))
    return [f"{duration(ns)} {words}" for ns, words in parts if ns > whole_ns // 100]


def requests_not_followed(model: Model, found_ns: int) -> str:
    """Return that requests took at least twice as long as everything found, for unknown reasons; else "". If nothing
    was found, they must be slow, too."""
    served = [each.line for each in model.exchanges if each.from_outside]
    count, ns = sum(line.count for line in served), sum(line.sum_ns for line in served)
    if model.request_time or count < ENOUGH_REQUESTS or ns < SERVES * model.window_ns or ns < 2 * found_ns:
        return ""
    if not found_ns and ns < network_policy.slow_answer_ns * count:
        return ""  # on average no slow answers: nobody waits for them
    return f"{CANNOT_TELL}where its {plural(count, 'request')} spent {duration(ns)} could not be followed."


def left_unread(model: Model) -> str:
    """Return that requests have waited for long and are not read, and where; else "".

    Where it is not known when they came, nobody has accepted a connection there in the whole window.
    """
    lines = [
        line
        for line in model.requests_awaited
        if line.oldest_ns >= network_policy.slow_answer_ns or (line.queued and not line.oldest_ns)
    ]
    if not lines:
        return ""
    oldest_ns = max(line.oldest_ns for line in lines)
    where = places(sorted(lines, key=lambda line: -line.count))
    many = sum(line.count for line in lines)
    were, oldest = ("was", "") if many == 1 else ("were", "the oldest ")
    since = f", {oldest}for {duration(oldest_ns)}" if oldest_ns else ""
    return f"{plural(many, 'request')} on {where} {were} still unread at the end{since}."


def lies_unread(model: Model) -> str:
    """Return that something came before the window and was not read, whether or not it waits for that; else ""."""
    earlier = [line for line in model.requests_left if line.earlier]
    if not earlier:
        return ""
    where = places(sorted(earlier, key=lambda line: -line.count))
    many = sum(line.count for line in earlier)
    return f"{plural(many, 'message')} on {where} {'lies' if many == 1 else 'lie'} unread."


def unanswered(model: Model) -> str:
    """Return that most requests had no answer when their connections ended, or were never read; else ""."""
    if waiting := left_unread(model):
        return f"Cannot tell why: {waiting[:1].lower()}{waiting[1:]}"
    served = [each.line for each in model.exchanges if each.served]
    left = sum(line.unanswered for line in served)
    every = left + sum(line.count for line in served)
    if 2 * left <= every:
        return ""
    return f"Cannot tell why: {left:,} of {plural(every, 'request')} had no answer when their connections ended."


def largest_found(largest: Finding, cause: Finding | None = None) -> list[str]:
    """Return the sentences on the largest finding, and on the first `cause` where that is another, which comes first:
    neither need be what makes the target slow."""
    if cause is None or cause is largest:
        return [f"Largest found: {_sized(largest)}."]
    return [f"Known: {_sized(cause)}.", f"Larger: {_sized(largest)}."]


def _sized(finding: Finding) -> str:
    return f"{finding.headline} ({share(finding.share)}{', no fault' if finding.severity is Severity.INFO else ''})"


def largest_known(finding: Finding) -> str:
    """Return the sentence on the largest cause that is proven, where what is unknown may hide a larger one."""
    of = f" of {finding.of}" if finding.of else ""
    return f"Known: {finding.headline} ({duration(finding.taken_ns)}, {share(finding.share)}{of})."


def full_thread(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """Return the finding of a thread that runs all the time while the others are blocked."""
    longest_ns = max((thread.ns(*CPU) for thread in model.threads if thread.tid), default=0)
    if longest_ns < FULL * model.window_ns or not parked_threads.parked_ns(model):
        return []
    return [finding for finding in findings[:1] if finding.mechanism is Mechanism.ONE_THREAD]


def perhaps(findings: Sequence[Finding]) -> list[str]:
    """Return the sentences on what may be the case, each with what would tell."""
    return [sentence for each in findings for sentence in (said(each), to_tell(each.remedies[0].text))]


def told(finding: Finding) -> str:
    """Return the sentence on the first finding: its headline, and its part of what time."""
    if finding.claimed_ns and not finding.is_root and finding.of:
        return f"{finding.headline} ({share(finding.share)} of {finding.of})."
    return f"{finding.headline} ({_part(finding)})."


def told_too(finding: Finding) -> str:
    """Return the sentence on a further finding, with a word where it is unsure: of what time its part is stands with
    the first one."""
    unsure = ", low confidence" if finding.confidence is Confidence.LOW else ""
    return f"{finding.headline} ({_part(finding)}{unsure})."


def _part(finding: Finding) -> str:
    part = share(finding.share) if finding.claimed_ns or not finding.idle_ns else duration(finding.idle_ns)
    if finding.is_root:  # the headline is of its own time, without that of those who waited behind it
        behind = "requests queued" if finding.of == REQUEST_TIME else "the threads that wait"
        part = f"{part} of {finding.of or 'it'}, with {behind} behind it"
    return part


def said(finding: Finding) -> str:
    """Return the sentence on a finding that takes no time, or whose time another sentence says."""
    return f"{finding.headline}."


def of_busy_time(model: Model, finding: Finding) -> str:
    """Return the part of the busy time that a finding explains, and a fix saves at most."""
    return f"{share(finding.share)} of busy time: {duration(finding.claimed_ns)} of {duration(model.busy_ns)}."


def failed(finding: Finding) -> str:
    """Return the sentence on a finding that is critical, whatever time it takes."""
    return f"{finding.headline}."


def verdict(kind: Kind, parts: Sequence[str], findings: Sequence[Finding] = ()) -> contract.Verdict:
    """Return the verdict made of the sentences in `parts` (empty ones are none), which speaks of `findings`."""
    return worded(kind, parts, [finding.id for finding in findings])


def worded(
    kind: Kind,
    parts: Sequence[str],
    ids: Sequence[str],
    *,
    doubt: str = "",
    before: contract.Verdict | None = None,
) -> contract.Verdict:
    """Return the verdict of a kind on the findings `ids`; `doubt`, if any, is its first sentence.

    Sentences made by `to_tell` are among `parts` where they belong in the text.  Of the verdict `before`, whose
    sentences are among `parts`, commands and what the sentence on all requests is stay.
    """
    whole = [part for part in (doubt, *parts, *map(to_tell, before.tells if before else ())) if part]
    commands = [part.command for part in whole if isinstance(part, ToTell)]
    return contract.Verdict(
        kind=kind.value,
        text=" ".join(printable(part, LONGEST_SENTENCE) for part in whole),
        sentences=[printable(part, LONGEST_SENTENCE) for part in whole if not isinstance(part, ToTell)],
        tells=[printable(each, LONGEST_SENTENCE) for each in commands],
        doubt=printable(doubt, LONGEST_SENTENCE),
        ids=list(ids),
        of_all=before.of_all if before else _of_all(whole),
    )


def _of_all(parts: Sequence[str]) -> str:
    return next((printable(part, LONGEST_SENTENCE) for part in parts if isinstance(part, OfAll)), "")
