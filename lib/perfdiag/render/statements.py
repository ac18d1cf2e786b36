"""SQL statements, with --full: how long each took, and what most of its time went to."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from perfdiag.common.units import count, duration, share
from perfdiag.render.layout import HEADING, Page, Section, apart
from perfdiag.report.contract import Report
from perfdiag.report.contract.statements import Statement

_MOST = 30  # the others are in the JSON


def statements(report: Report, page: Page) -> Section:
    """Return two lines for each digest, those that took most time in all first; nothing without any."""
    told = report.statements[:_MOST]
    if not told:
        return Section([], [])
    blocks = [[page.chunk(_text(each), 4 + index, first="  ", limit=3)] for index, each in enumerate(told)]
    heading = Text(apart("SQL STATEMENTS", "measured in the server, literals removed", page.width), HEADING)
    untold = len(report.statements) - len(told)
    tail = [Text(f"  and {count(untold)} more: --json")] if untold else []
    return Section([heading], list(blocks), tail=tail)


def _text(statement: Statement) -> str:
    whole = statement.whole
    times = [f"{count(whole.count)}, {duration(statement.ns)} in all"]
    if whole.p50_ns is not None:
        times.append(f"p50 {duration(whole.p50_ns)}")
    if whole.p99_ns is not None:
        times.append(f"p99 {duration(whole.p99_ns)}")
    times.append(f"longest {duration(whole.max_ns)}")
    return f"{statement.name}: {', '.join(times)}; {_most(statement.accounts)}"


def _most(accounts: Mapping[str, int]) -> str:
    """Return "disk.flush 79 %, cpu.user 12 %"."""
    whole = sum(accounts.values()) or 1
    largest = sorted(accounts.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{account} {share(ns / whole)}" for account, ns in largest)


__all__ = ["statements"]
