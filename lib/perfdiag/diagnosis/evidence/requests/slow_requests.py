"""Requests over the objective (--slo): part of SLO-BREACH."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.debuggers import with_stacks
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.requests.overdue_requests import Limited, not_answered, numbers, overdue, unanswered
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import brief, duration, fix, percent, top
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import REST, beyond, unsure
from perfdiag.model.waits.idle_runtime_threads import WORK, scheduler_of
from perfdiag.recording.accounts import phrase_of

ID = "SLO-BREACH"
_TOLD = 10  # names with a finding of their own: somebody who looks for names can bring forth any number of them
_RANKED = fix("start with the first other finding: findings are ordered by the time that slow requests lost")
_NOT_FOLLOWED = "record for longer, so that more slow requests are seen: --duration 60"
_TASKS = "see what {tasks}s wait for: {tells}; or record for longer (--duration 60)"


def slow_requests(model: Model) -> Iterable[Finding]:
    """Yield one finding for each name with requests over its limit, the most broken first, and one for all further
    names."""
    served = [each for each in model.exchanges if each.served]
    limited = [(each, ns) for each in served if (ns := model.limit_ns(each.line.name)) is not None]
    broken = [(each, ns) for each, ns in limited if each.line.over_slo]
    broken.sort(key=lambda pair: -pair[0].line.over_slo)
    for each, ns in broken[:_TOLD]:
        yield _finding(model, each, ns, alone=len(broken) == 1)
    if broken[_TOLD:]:
        yield _rest(model, broken[_TOLD:])
    hanging = overdue([pair for pair in limited if not pair[0].line.over_slo])
    for each, ns in hanging[:_TOLD]:
        yield unanswered(model, each, ns)
    if hanging[_TOLD:]:
        yield _rest(model, hanging[_TOLD:])


def _rest(model: Model, limited: Sequence[Limited]) -> Finding:
    """Return the finding on the names that have none of their own: all broke their limit."""
    lines = [each.line for each, _ in limited]
    slow, count = sum(line.over_slo for line in lines), sum(line.count for line in lines)
    names = f"of {plural(len(lines), 'more name')}"
    text = f"{slow:,} of {plural(count, 'request')} {names} took longer than their limits"
    if not slow:
        text = f"{not_answered(limited, names)}: longer than their limits"
    return conclude(
        model,
        {},
        headline=(
            f"{slow:,} of {plural(count, 'request')} {names} took longer than their limits"
            if slow
            else f"Requests {names} are not answered"
        ),
        claim=f"{text}.",
        mechanism=Mechanism.MISSED,
        severity=Severity.WARNING,
        doubts=["slow requests of these names are not listed one by one"],
        evidence=[Evidence(text, float(slow or sum(numbers(limited))), "count", "sockets")],
        remedies=[fix("see REQUESTS: perfdiag report FILE --full, or --json for all of them")],
        verify=measured(model, f"no request over its limit, now {slow:,} of {count:,}"),
    )


def _finding(model: Model, exchange: Exchange, limit_ns: int, *, alone: bool) -> Finding:
    line, time, name = exchange.line, model.request_time, exchange.title
    part = line.over_slo / line.count if line.count else 1.0
    share = f"; {percent(part)} of requests over it" if line.count >= general_policy.waits_for_p99 else ""
    longest = f"longest {duration(exchange.whole.max_ns)}"
    evidence = [
        Evidence(
            f"{longest}; limit {duration(limit_ns)}{share}",
            part,
            "share",
            "sockets",
        )
    ]
    worst = ""
    if time is not None and time.excess:
        of = "" if alone else " of all names"
        took = f"what slow requests{of} took {beyond(time.median_over)}: {top(time.accounts)}"
        evidence.append(Evidence(took, float(time.ns), "ns", "ledger"))
        worst = max(time.accounts, key=lambda account: time.accounts[account], default="")
    mostly = ""
    if time is not None and worst and alone:
        mostly = (
            f"; the largest part of that time{'' if time.median_over else ' beyond the median'} is"
            f" {phrase_of(worst)} ({worst})"
        )
    unknown = "" if worst else "it is unknown where slow requests spent most of their time"
    claim = f"{line.over_slo:,} of {line.count:,} requests {name} took longer than {duration(limit_ns)}{mostly}."
    if perhaps := unsure([line], slow=True):
        claim = (
            f"{line.over_slo:,} of {line.count:,} messages {name} came more than {duration(limit_ns)} before"
            f" {subject(model)} sent something. It is unknown whether that was an answer or a message of its own."
        )
    return conclude(
        model,
        {},
        headline=(
            f"{line.over_slo:,} of {line.count:,} {'messages' if perhaps else 'requests'} {brief(name)} took over"
            f" {duration(limit_ns)}"
        ),
        claim=claim,
        mechanism=Mechanism.UNDETERMINED if perhaps else Mechanism.MISSED,
        severity=Severity.INFO if perhaps else Severity.WARNING,
        doubts=[unknown],
        evidence=evidence,
        remedies=[_RANKED if worst else fix(_follow(model))],
        alternatives=["the limit is too tight for this request"],
        verify=measured(model, f"no request over {duration(limit_ns)}, now {line.over_slo:,} of {line.count:,}"),
        weight=1 + line.over_slo,
    )


def with_remedies(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """Return findings whose remedies do not point to other findings if there are none: what slow requests took is then
    no fault."""
    if model.request_time is None or any(each.id != ID for each in findings):
        return list(findings)
    spent = model.request_time.accounts
    worst = max(spent, key=lambda account: spent[account], default="")
    looks = f"{with_stacks(model, 'shows the code')}; perfdiag explain {worst}"
    helps = fix(f"no other finding: {_follow(model) if worst == REST else looks}")
    return [replace(each, remedies=[helps if one is _RANKED else one for one in each.remedies]) for each in findings]


def _follow(model: Model) -> str:
    """Return where to look for what requests wait for; the profile of a runtime shows its tasks."""
    kind = scheduler_of(row.key for row in model.rows_of(WORK))
    return _TASKS.format(tasks=kind.tasks, tells=kind.tells) if kind else _NOT_FOLLOWED
