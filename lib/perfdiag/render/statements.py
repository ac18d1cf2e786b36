"""SQL statements and calls that have names, with --full: how long each took, and what most of its time went to."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from rich.text import Text

from perfdiag.common.units import count, duration, share
from perfdiag.render.layout import HEADING, Page, Section, apart
from perfdiag.render.requests import answered_with
from perfdiag.report.contract import NamedCall, Report
from perfdiag.report.contract.statements import SqlCall, Statement

_MOST = 30  # the others are in the JSON
_Told = TypeVar("_Told")


def statements(report: Report, page: Page) -> Section:
    """Return two lines for each digest, those that took most time in all first; nothing without any."""
    return _section(page, "SQL STATEMENTS", "measured in the server, literals removed", report.statements, _text)


def sql_calls(report: Report, page: Page) -> Section:
    """Return two lines for each statement that the target sent, likewise."""
    return _section(page, "SQL STATEMENTS SENT", "until the answer begins, literals removed", report.sql_calls, _sent)


def named_calls(report: Report, page: Page) -> Section:
    """Return two lines for each thing that the target asked a peer for, likewise."""
    return _section(page, "CALLS SENT", "until the answer begins", report.named_calls, _sent)


def _section(page: Page, title: str, what: str, found: Sequence[_Told], text: Callable[[_Told], str]) -> Section:
    if not found:
        return Section([], [])
    told = found[:_MOST]
    blocks = [[page.chunk(text(each), 4 + index, first="  ", limit=3)] for index, each in enumerate(told)]
    untold = len(found) - len(told)
    tail = [Text(f"  and {count(untold)} more: --json")] if untold else []
    return Section([Text(apart(title, what, page.width), HEADING)], list(blocks), tail=tail)


def _text(statement: Statement) -> str:
    over, count = statement.over_slo, statement.whole.count
    slow = f"; {share(over / count)} over the limit: {_most(statement.slowest)}" if over else ""
    return f"{statement.name}: {_times(statement)}; {_most(statement.accounts)}{slow}"


def _sent(statement: SqlCall | NamedCall) -> str:
    often = f", {statement.times:.1f} a request" if statement.times else ""
    request = f" for {statement.request}" if statement.request else ""
    errors = answered_with(statement.errors) if isinstance(statement, NamedCall) else []
    return ", ".join([f"{statement.name}, to {statement.peer}{request}: {_times(statement)}{often}", *errors])


def _times(statement: Statement | SqlCall | NamedCall) -> str:
    whole = statement.whole
    times = [f"{count(whole.count)}, {duration(statement.ns)} in all"]
    if whole.p50_ns is not None:
        times.append(f"p50 {duration(whole.p50_ns)}")
    if whole.p90_ns is not None:
        times.append(f"p90 {duration(whole.p90_ns)}")
    if whole.p99_ns is not None:
        times.append(f"p99 {duration(whole.p99_ns)}")
    return ", ".join([*times, f"longest {duration(whole.max_ns)}"])


def _most(accounts: Mapping[str, int]) -> str:
    """Return "disk.flush 79 %, cpu.user 12 %"."""
    whole = sum(accounts.values()) or 1
    largest = sorted(accounts.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{account} {share(ns / whole)}" for account, ns in largest)
