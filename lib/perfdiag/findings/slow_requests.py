"""Requests over the objective (--slo): part of SLO-BREACH."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.findings.base import Confidence, Evidence, Finding, Severity
from perfdiag.findings.weigh import ENOUGH_FOR_P99, duration, fix, judged, percent, plain, top
from perfdiag.model import Model
from perfdiag.requests import Exchange


def slow_requests(model: Model, limit_ns: int) -> Iterable[Finding]:
    """One finding for each name with requests over the limit, the most broken first."""
    broken = [each for each in model.exchanges if each.served and each.line.over_slo]
    for each in sorted(broken, key=lambda each: -each.line.over_slo):
        yield _finding(model, each, limit_ns)


def _finding(model: Model, exchange: Exchange, limit_ns: int) -> Finding:
    line, time = exchange.line, model.request_time
    name = plain(f"{line.name} on {line.object.replace(':', ' ')}".removeprefix(" on "))
    part = line.over_slo / line.count if line.count else 1.0
    share = f" ({percent(part)})" if line.count >= ENOUGH_FOR_P99 else ""
    longest = f"longest {duration(exchange.whole.max_ns)}"
    evidence = [
        Evidence(
            f"{line.over_slo:,} of {line.count:,} {name} over {duration(limit_ns)}{share}, {longest}",
            part,
            "share",
            "sockets",
        )
    ]
    worst = ""
    if time is not None and time.excess:
        beyond = f"what slow requests took beyond the others: {top(time.accounts)}"
        evidence.append(Evidence(beyond, float(time.ns), "ns", "ledger"))
        worst = max(time.accounts, key=lambda account: time.accounts[account], default="")
    unknown = "" if worst else "where the time of slow requests went is not known well enough"
    confidence, limits = judged(model, Confidence.HIGH, [unknown])
    return Finding(
        "SLO-BREACH",
        Severity.WARNING,
        confidence,
        f"{line.over_slo:,} of {line.count:,} requests {name} took longer than {duration(limit_ns)}"
        f"{f'; most of what they took beyond the others is {worst}' if worst else ''}.",
        {},
        evidence,
        [fix("see the findings: with --slo they are ranked by what slow requests took beyond the others")],
        alternatives=["a limit that is too tight for what the request does"],
        limits=limits,
        verify=f"the same command again: requests over {duration(limit_ns)}",
    )


__all__ = ["slow_requests"]
