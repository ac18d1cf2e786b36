"""Requests without an answer for longer than their limit (--slo): whose connection ended, or which still wait."""

from collections.abc import Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.debuggers import command_for_sleepers
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import Still, brief, duration, fix
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.recording import schema
from perfdiag.recording.accounts import Kind, kind_of, phrase_of

_IDLE_INSIDE = ("wait.timer", "wait.child", "wait.stopped")  # idle, and not for want of work

Limited = tuple[Exchange, int]  # with the limit, in ns


def overdue(limited: Sequence[Limited]) -> list[Limited]:
    """Return those with requests that took longer than their limit without an answer, the longest first."""
    found = [(each, ns) for each, ns in limited if _open(each.line, ns) or _left(each.line, ns)]
    return sorted(found, key=lambda pair: -_longest_ns(*pair))


def _open(line: schema.Exchange, limit_ns: int) -> int:
    """Return how many are not answered yet; 0 if all of them can still keep the limit."""
    return line.open if line.oldest_ns >= limit_ns else 0


def _left(line: schema.Exchange, limit_ns: int) -> int:
    """Return how many had no answer when their connection ended; 0 if none is known to have taken so long."""
    return line.unanswered if (line.unanswered_longest_ns or 0) >= limit_ns else 0


def _longest_ns(each: Exchange, limit_ns: int) -> int:
    line = each.line
    return max(
        line.oldest_ns if _open(line, limit_ns) else 0,
        line.unanswered_longest_ns or 0 if _left(line, limit_ns) else 0,
    )


def numbers(limited: Sequence[Limited]) -> tuple[int, int]:
    """Return how many are not answered yet, and how many were left without an answer."""
    lines = [(each.line, ns) for each, ns in limited]
    return sum(_open(*pair) for pair in lines), sum(_left(*pair) for pair in lines)


def not_answered(limited: Sequence[Limited], names: str) -> str:
    """Return how many requests of these names have no answer, and after how long."""
    waiting, left = numbers(limited)
    yet = "" if left else " yet"
    when = " or ".join([*(["the window"] if waiting else []), *(["their connections"] if left else [])])
    return f"{plural(waiting + left, 'request')} {names} not answered{yet} when {when} ended, {_after(limited)}"


def _after(limited: Sequence[Limited]) -> str:
    longest = duration(max(_longest_ns(*pair) for pair in limited))
    return f"after {longest}" if sum(numbers(limited)) == 1 else f"the oldest after {longest}"


def unanswered(model: Model, exchange: Exchange, limit_ns: int) -> Finding:
    """Return the finding on requests that broke the limit without an answer: they do not count as slow."""
    line, limited = exchange.line, [(exchange, limit_ns)]
    waiting, left = numbers(limited)
    text = not_answered(limited, exchange.title)
    inside = _inside(model, line) if waiting else []
    which = "it is unknown how many of them are over the limit" if waiting + left > 1 else ""
    perhaps = line.untimed > 0 and not line.wants_answers  # other messages there had none, and clients went on
    return conclude(
        model,
        {},
        headline=_headline(limited, f"{plural(waiting + left, 'request')} {brief(exchange.title)}"),
        claim=" ".join([f"{text}: the limit is {duration(limit_ns)}.", *_doing(model, inside)]),
        mechanism=Mechanism.UNDETERMINED if perhaps else Mechanism.MISSED,
        severity=Severity.INFO if perhaps else Severity.WARNING,
        doubts=[which],
        evidence=[Evidence(text, float(_longest_ns(exchange, limit_ns)), "ns", "sockets")],
        remedies=[fix(_look(model, inside))],
        alternatives=[
            "long polling: clients ask ahead and wait",
            *([f"messages that want no answer, as {plural(line.untimed, 'other')} there had none"] if perhaps else []),
            *(["clients left before they had sent a whole request"] if left else []),
        ],
        verify=measured(model, f"all answered within {duration(limit_ns)}"),
        weight=_longest_ns(exchange, limit_ns) / 2**63,
    )


def _headline(limited: Sequence[Limited], who: str) -> str:
    waiting, left = numbers(limited)
    if not left:
        several = "," if waiting > 1 else ""
        return f"{who} not answered yet{several} {_after(limited)}"
    return f"{who} got no answer{', or have none yet' if waiting else ''}"


@once
def _reading(model: Model) -> list[Still]:
    """Return the threads that have read requests and were in a wait when the window ended, but not for work."""
    return [
        (thread, thread.still_waiting)
        for thread in model.threads
        if thread.requests_read and thread.still_waiting and _can_be_inside(thread.still_waiting.account)
    ]


def _can_be_inside(account: str) -> bool:
    return kind_of(account) is not Kind.IDLE or account in _IDLE_INSIDE


def _inside(model: Model, line: schema.Exchange) -> list[Still]:
    """Return the waits that these requests can be in: such threads, no more than requests, all in the same account
    since after the first of these arrived."""
    end_ns = model.header.start_ns + model.window_ns
    begun_ns = end_ns - line.oldest_ns - requests_policy.written_late_ns
    found = [(thread, wait) for thread, wait in _reading(model) if wait.since_ns >= begun_ns]
    together = sum(each.line.open for each in model.exchanges if each.served)
    return found if len({wait.account for _, wait in found}) == 1 and len(found) <= together else []


def _doing(model: Model, inside: Sequence[Still]) -> list[str]:
    """Return the sentence on what the threads are in that can have these requests."""
    if not inside:
        return []
    account, end_ns = inside[0][1].account, model.header.start_ns + model.window_ns
    longest = duration(max(0, end_ns - min(wait.since_ns for _, wait in inside)))
    what = f"{phrase_of(account)} ({account})"
    if len(inside) > 1:
        return [f"{len(inside)} threads that read requests were then {what}, the longest for {longest}."]
    return [f"Thread {inside[0][0].name}, which reads requests, was then {what}, for {longest}."]


def _look(model: Model, inside: Sequence[Still]) -> str:
    pid = inside[0][0].pid if inside else 0
    which = "that thread waits" if len(inside) == 1 else "the serving threads wait"
    return f"see where {which}: {command_for_sleepers(model, pid) or 'STACKS in this report with --full'}"
