"""The head of a report: target, verdict, work done."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from rich.text import Text

from perfdiag.common.units import about, count, duration, known, plural, share, size
from perfdiag.render.layout import COLUMNS, HEADING, Block, Chunk, Page, Section, apart, clip, fit_on_one_line
from perfdiag.report.contract import Host, Operation, Report

VERDICT_LINES = 3
LEAST_WORK_BYTES = 1024  # a second; of less nobody would say that it is what the target does


def head(report: Report, page: Page) -> Section:
    """Who was measured, when, where; what must be known before any number."""
    target, host, window = report.target, report.host, report.window
    inside = f", {target.namespace_pid} in its namespace" if target.namespace_pid != target.pid else ""
    when = window.start.replace("T", " ").replace("Z", " UTC")
    measured = f"{when}, {duration(window.duration_ns)}, {plural(target.threads, 'thread')}"
    guest = f"{host.hypervisor} guest, " if host.hypervisor not in (None, "none") else ""
    notes = [*(clip(note, 2 * page.width) for note in report.notes), f"{guest}{known(host.cpus, 'CPU')}"]
    who = f"{target.comm} (pid {target.pid}{inside})" if target.pid else target.comm
    lines = [
        *_commanded(target.command, _where(host), page),
        *_titled(who, measured, page),
        *page.wrapped("; ".join(notes), first="", rest="  "),
    ]
    return Section(lines, [], gap=False)


def _where(host: Host) -> str:
    return f"host {host.name}, Linux {host.kernel}" if host.kernel else "host not recorded"


def _commanded(command: str, where: str, page: Page) -> list[Text]:
    """Whole on a full page, so that it can be run again; a screenful has its lines for findings."""
    if page.full and not fit_on_one_line(command, where, page.width):
        return [*page.wrapped(command, first="", rest="  ", style=HEADING), page.line(f"  {where}")]
    return _titled(command, where, page, HEADING)


def _titled(left: str, right: str, page: Page, style: str = "") -> list[Text]:
    """On one line, of which the left gives way, or on two where a page is so narrow that little would be left of it."""
    if page.width >= COLUMNS or fit_on_one_line(left, right, page.width):
        return [Text(apart(left, right, page.width), style)]
    return [page.line(left, style), page.line(f"  {right}")]


def verdict(report: Report, page: Page) -> Section:
    """One of five kinds, at most three lines of 80 columns: whole sentences, the most important first.

    Behind what makes a cause unsure that cause stands, however long it is.
    """
    limit = ceil(VERDICT_LINES * COLUMNS / page.width)
    shown = list(report.verdict.sentences)
    kept = 1 + bool(report.verdict.doubt)
    while (
        len(shown) > kept and len(page.wrapped(" ".join(shown), first="VERDICT  ", rest="  ")) > limit and not page.full
    ):
        shown.pop()
    return Section(page.wrapped(" ".join(shown), first="VERDICT  ", rest="  ", limit=limit, style=HEADING), [])


def work(report: Report, page: Page) -> Section:
    """Operations over the limit that was asked for, then work done, and how long other operations took.

    Ranks never fall from block to block: a block is not shown before those above it.
    """
    asked = [each for each in report.operations if each.over_slo]
    others = [each for each in report.operations if not each.over_slo]
    blocks: list[Block] = [[_operates(page, each, 1 + 3 * index, index)] for index, each in enumerate(asked)]
    last = 3 * len(asked)
    seconds = report.window.duration_ns / 1e9
    least = 1 if page.full else LEAST_WORK_BYTES * seconds
    moving = [each for each in report.work if each.amount >= least] if seconds else []
    if moving:
        moved = ", ".join(f"{each.name} {size(each.amount / seconds)}/s" for each in moving)
        last = max(6, last)
        blocks.append([page.chunk(moved, last, first="WORK     ", limit=2)])
    for index, each in enumerate(others):
        before = index if moving else len(asked) + index
        blocks.append([_operates(page, each, last + 3 + 5 * index, before)])
    named = [*(each.name for each in asked), *(["work done"] if moving else []), *(each.name for each in others)]

    def fold(hidden: Sequence[int]) -> list[Text]:
        names = ", ".join(named[index] for index in hidden)
        some = 0 not in hidden  # below what is shown, or alone
        return [page.line(f"{'         and ' if some else 'OPERATES '}{len(hidden)}{' more' * some} (--full): {names}")]

    return Section([], blocks, fold)


def _operates(page: Page, operation: Operation, rank: int, before: int) -> Chunk:
    """Return the line of an operation, with the heading where none stands right `before` it."""
    return page.chunk(_operation(operation), rank, first="         " if before else "OPERATES ", limit=2)


def _operation(operation: Operation) -> str:
    """Percentiles only where there are enough of them; what the window could not have seen is said."""
    parts = [f"{operation.name}: {count(operation.count)}, {operation.per_second:.3g}/s"]
    times = (("p50", operation.p50_ns), ("p90", operation.p90_ns), ("p99", operation.p99_ns))
    parts += [f"{name} {about(ns)}" for name, ns in times if ns is not None]
    parts.append(f"longest {duration(operation.max_ns)}")
    if operation.over_slo is not None and operation.limit_ns is not None:
        parts.append(f"{count(operation.over_slo)} over {duration(operation.limit_ns)}")
    if operation.p99_ns is None and operation.rarity_unseen is not None:
        parts.append(f"too few to see what is rarer than {share(operation.rarity_unseen)}")
    return ", ".join(parts)


__all__ = ["head", "verdict", "work"]
