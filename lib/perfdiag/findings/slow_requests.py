"""Requests over the objective (--slo): part of SLO-BREACH."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.findings.base import Confidence, Evidence, Finding, Severity
from perfdiag.findings.weigh import ENOUGH_FOR_P99, duration, fix, judged, percent, plain, top
from perfdiag.model import Model
from perfdiag.requests import Exchange
from perfdiag.units import plural


def slow_requests(model: Model, limit_ns: int) -> Iterable[Finding]:
    """One finding for each name with requests over the limit, the most broken first."""
    broken = [each for each in model.exchanges if each.served and each.line.over_slo]
    for each in sorted(broken, key=lambda each: -each.line.over_slo):
        yield _finding(model, each, limit_ns, alone=len(broken) == 1)
    for each in model.exchanges:
        if each.served and each.line.open and each.line.oldest_ns >= limit_ns and each not in broken:
            yield _unanswered(model, each, limit_ns)


def _name(exchange: Exchange) -> str:
    return plain(f"{exchange.line.name} on {exchange.line.object.replace(':', ' ')}".lstrip())


def _unanswered(model: Model, exchange: Exchange, limit_ns: int) -> Finding:
    """Return that the limit is broken by what was not answered at all: who hangs is not counted among the slow."""
    line, name = exchange.line, _name(exchange)
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
    line, time = exchange.line, model.request_time
    name = _name(exchange)
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
        beyond = f"what slow requests{of} took beyond the others: {top(time.accounts)}"
        evidence.append(Evidence(beyond, float(time.ns), "ns", "ledger"))
        worst = max(time.accounts, key=lambda account: time.accounts[account], default="")
    mostly = f"; the largest part of what they took beyond the others is {worst}" if worst and alone else ""
    unknown = "" if worst else "where the time of slow requests went is not known well enough"
    confidence, limits = judged(model, Confidence.HIGH, [unknown])
    return Finding(
        "SLO-BREACH",
        Severity.WARNING,
        confidence,
        f"{line.over_slo:,} of {line.count:,} requests {name} took longer than {duration(limit_ns)}{mostly}.",
        {},
        evidence,
        [fix("see the findings: with --slo they are ranked by what slow requests took beyond the others")],
        alternatives=["a limit that is too tight for what the request does"],
        limits=limits,
        verify=f"the same command again: requests over {duration(limit_ns)}",
    )


__all__ = ["slow_requests"]
