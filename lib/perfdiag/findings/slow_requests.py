"""Requests over the objective (--slo): part of SLO-BREACH."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.exchanges import Exchange
from perfdiag.findings.base import Confidence, Evidence, Finding, Severity
from perfdiag.findings.weigh import ENOUGH_FOR_P99, duration, fix, judged, percent, top
from perfdiag.model import Model
from perfdiag.requests import beyond
from perfdiag.units import plural

_RANKED = "see the findings: with --slo they are ranked by what slow requests took beyond the median"
_NOT_FOLLOWED = (
    "see WHERE, and a profile by the runtime itself where tasks or goroutines wait for each other; record for longer"
    " where requests were few"
)


def slow_requests(model: Model) -> Iterable[Finding]:
    """One finding for each name with requests over its limit, the most broken first."""
    served = [each for each in model.exchanges if each.served]
    limited = [(each, ns) for each in served if (ns := model.limit_ns(each.line.name)) is not None]
    broken = [(each, ns) for each, ns in limited if each.line.over_slo]
    for each, ns in sorted(broken, key=lambda pair: -pair[0].line.over_slo):
        yield _finding(model, each, ns, alone=len(broken) == 1)
    for each, ns in limited:
        if each.line.open and each.line.oldest_ns >= ns and not each.line.over_slo:
            yield _unanswered(model, each, ns)


def _unanswered(model: Model, exchange: Exchange, limit_ns: int) -> Finding:
    """Return that the limit is broken by what was not answered at all: who hangs is not counted among the slow."""
    line, name = exchange.line, exchange.title
    text = f"{plural(line.open, 'request')} {name} not answered when the window ended, the oldest after"
    which = "how many of them are over the limit is not known" if line.open > 1 else ""
    confidence, limits = judged(model, Confidence.HIGH, [which])
    return Finding(
        "SLO-BREACH",
        Severity.WARNING,
        confidence,
        f"{text} {duration(line.oldest_ns)}: the limit is {duration(limit_ns)}.",
        {},
        [Evidence(f"{text} {duration(line.oldest_ns)}", float(line.oldest_ns), "ns", "sockets")],
        [fix("see what the threads that serve wait for: STILL WAITING in the report")],
        alternatives=["clients that ask for what is to come (long polling)"],
        limits=limits,
        verify=f"the same command again: requests over {duration(limit_ns)}",
    )


def _finding(model: Model, exchange: Exchange, limit_ns: int, *, alone: bool) -> Finding:
    line, time, name = exchange.line, model.request_time, exchange.title
    part = line.over_slo / line.count if line.count else 1.0
    share = f" ({percent(part)})" if line.count >= ENOUGH_FOR_P99 else ""
    longest = f"longest {duration(exchange.whole.max_ns)}"
    evidence = [
        Evidence(
            f"{line.over_slo:,} of {line.count:,} requests {name} over {duration(limit_ns)}{share}, {longest}",
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
        mostly = f"; the largest part of what they took {'' if time.median_over else 'beyond the median '}is {worst}"
    unknown = "" if worst else "where the time of slow requests went is not known well enough"
    confidence, limits = judged(model, Confidence.HIGH, [unknown])
    return Finding(
        "SLO-BREACH",
        Severity.WARNING,
        confidence,
        f"{line.over_slo:,} of {line.count:,} requests {name} took longer than {duration(limit_ns)}{mostly}.",
        {},
        evidence,
        [fix(_RANKED if worst else _NOT_FOLLOWED)],
        alternatives=["a limit that is too tight for what the request does"],
        limits=limits,
        verify=f"the same command again: requests over {duration(limit_ns)}",
    )


__all__ = ["slow_requests"]
