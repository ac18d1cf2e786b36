"""Why to believe a report: what is fine, what was not measured, how far the books close, what measuring took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from rich.cells import cell_len
from rich.text import Text

from perfdiag.common.units import count, duration, fine_share, plural, size
from perfdiag.diagnosis.significance import CLOSED, ENOUGH_AGREEMENT
from perfdiag.recording.schema import NO_TIME_LOST
from perfdiag.render import lost_records
from perfdiag.render.layout import COLUMNS, HEADING, Block, Chunk, Page, Section, heading, pad
from perfdiag.report.contract import Checked, Program, Report

_LEAST_NS = 1_000_000_000  # of a window shorter than that the recorder's start and end would be a share of


def checked(report: Report, page: Page) -> list[Section]:
    """What was looked at without finding a fault, several to a line; what is large is never called fine."""
    large = [check for check in report.checked if not check.fine]
    fine = [check for check in report.checked if check.fine]
    whole = "" if page.full else "shares of busy time unless named otherwise"
    return [
        _checks(large, page, "NOT SMALL, BUT NO FAULT SHOWN", whole, 5),
        _checks(fine, page, "CHECKED AND FINE", "" if large else whole, 7, gap=not large),
    ]


def _checks(checks: Sequence[Checked], page: Page, name: str, remark: str, rank: int, gap: bool = True) -> Section:
    title = heading(name, remark, page.width)
    lines: list[list[str]] = []
    for check in checks:
        text = f"{check.id}: {check.text}" if page.full else check.text.replace(" of busy time", "")
        room = [line for line in lines if cell_len(" | ".join([*line, text])) <= page.width - 2]
        if room and not page.full:
            room[0].append(text)
        else:
            lines.append([text])
    limit = 1 if len(checks) > 1 else 2
    blocks = [
        [page.chunk(" | ".join(line), rank + 4 * index, rest="    ", limit=limit)] for index, line in enumerate(lines)
    ]

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [Text(f"  and {sum(len(lines[index]) for index in hidden)} more: --full")]

    closed = [page.line(f"{name}  {len(checks)}: --full", HEADING)] if blocks else []
    return Section(title if blocks else [], blocks, fold, gap=gap or page.full, closed=closed)


def not_measured(report: Report, page: Page) -> Section:
    """What is not known: what it would have told, why not, and where it can be learnt."""
    blocks: list[Block] = []
    for index, item in enumerate(report.not_measured):
        lines = page.wrapped(f"{item.what}: {item.reason}", rest="    ", limit=2)
        lines += page.wrapped(item.fix, first="    ", limit=2) if item.fix else []
        blocks.append([Chunk(lines, 6 + 5 * index)])

    def fold(hidden: Sequence[int]) -> list[Text]:
        what = ", ".join(report.not_measured[index].what for index in hidden)
        return [page.line(f"  and {len(hidden)} more (--full): {what}")]

    return Section([Text("NOT MEASURED", HEADING)] if blocks else [], blocks, fold)


def coverage(report: Report, page: Page) -> Section:
    """How far to believe it, and what it took: always there, never rounded to zero."""
    believe = _believe(report, page)
    while not page.full and len(page.wrapped(_statements(believe), first="COVERAGE  ")) > 3:
        good = [statement for statement in believe if not statement.always]
        if not good:
            break
        believe.remove(good[-1])  # half a statement is none, and what must be told is never left out
    lines = page.wrapped(_statements(believe), first="COVERAGE  ", limit=4)
    lines += page.wrapped(_cost(report), first="COST      ", limit=ceil(2 * COLUMNS / page.width))
    if not page.full:
        hint = "perfdiag explain FINDING-ID; the whole report: --full or --json"
        lines += page.wrapped(hint, first="HELP      ", limit=2)
    return Section(lines, [])


@dataclass(frozen=True)
class _Statement:
    """One number to believe a report by."""

    text: str
    always: bool  # shown however little room there is


def _statements(statements: Sequence[_Statement]) -> str:
    return "; ".join(statement.text for statement in statements)


def _believe(report: Report, page: Page) -> list[_Statement]:
    """Return the statements, the more important of those that may be left out first."""
    coverage = report.coverage
    found = [
        _Statement(_books(report), True),
        _Statement(f"unexplained {fine_share(coverage.unexplained_share)}", True),
        _lost(report, page),
    ]
    if coverage.contradictions:
        more = len(coverage.contradictions) - 1
        rest = f" and {more} more: --full" if more and not page.full else ""
        texts = coverage.contradictions if page.full else coverage.contradictions[:1]
        found.insert(0, _Statement(f"the recording contradicts itself: {'; '.join(texts)}{rest}", True))
    if coverage.stack_agreement is None:
        found.append(_Statement("no wait stacks to check accounts against", False))
    else:
        most = [f" (most: {account} booked, stack says {seen})" for account, seen, _ in coverage.disagreements[:1]]
        text = (
            f"accounts agree with {plural(coverage.stack_samples, 'sampled stack')} for"
            f" {fine_share(coverage.stack_agreement)} of their time{''.join(most)}"
        )
        found.append(_Statement(text, coverage.stack_agreement < ENOUGH_AGREEMENT))
    if coverage.cpu_split_error is not None:
        split = f"+-{fine_share(coverage.cpu_split_error)}" if coverage.cpu_split_error < 1 else "not known"
        found.append(_Statement(f"user/kernel split {split}", False))
    unseen = _largest({name: number for name, number in (coverage.lost or {}).items() if name in NO_TIME_LOST}, page)
    if unseen:
        found.append(_Statement(f"not seen, without loss of time: {unseen}", False))
    return found


def _books(report: Report) -> str:
    """Return how far accounts and time agree; of books that do not close no words that sound as if they did."""
    off, worst = report.coverage.closed_error, report.coverage.worst_thread_error
    if off > CLOSED:
        thread = f" (worst thread {fine_share(worst)})" if worst > CLOSED else ""
        return f"BOOKS DO NOT CLOSE: {fine_share(off)} too much or too little is booked{thread}"
    thread = f", BUT NOT THOSE OF EACH THREAD: {fine_share(worst)} of the worst" if worst > CLOSED else ""
    return f"books close to {fine_share(off)}{thread}"


def _lost(report: Report, page: Page) -> _Statement:
    coverage = report.coverage
    if coverage.lost is None:
        return _Statement("losses not known: the recording has no end", True)
    timed = {name: number for name, number in coverage.lost.items() if name not in NO_TIME_LOST}
    lost, named = f"{count(sum(timed.values()))} of {plural(coverage.records, 'record')} lost", _largest(timed, page)
    return _Statement(f"{lost} ({named})" if named else lost, True)


def _largest(counters: Mapping[str, int], page: Page) -> str:
    kinds = sorted(((name, number) for name, number in counters.items() if number), key=lambda item: -item[1])
    return ", ".join(lost_records.told(name, number) for name, number in kinds[: page.limit(3)])


def _cost(report: Report) -> str:
    cost, window_ns = report.cost, report.window.duration_ns
    if cost is None or not window_ns:
        return "not known: the recording has no end"
    measured = [program.ns for program in cost.probes if program.ns is not None]
    missing = len(cost.probes) - len(measured)
    inside = fine_share(sum(measured) / window_ns) if measured else "not measured"
    inside += f" ({missing} of {len(cost.probes)} not measured)" if measured and missing else ""
    memory = "not measured" if cost.rss_bytes is None else size(cost.rss_bytes)
    if cost.cpu_ns is None:
        took = "not measured"
    elif window_ns < _LEAST_NS:
        took = f"{duration(cost.cpu_ns)} of CPU time, to start and end"
    else:
        took = f"{fine_share(cost.cpu_ns / window_ns)} of one CPU"
    return f"recorder {took}, BPF programs {inside}; memory {memory}"


def _ran(program: Program) -> str:
    if program.runs is None or program.ns is None:
        return f"{'not measured':>12}"
    return f"{count(program.runs):>12} runs {duration(program.ns):>8}"


def details(report: Report, page: Page) -> list[Section]:
    """Of the full report: cost by program, and where accounts and stacks disagree."""
    programs = [
        page.line(f"  {pad(program.name, 32)} {_ran(program)}")
        for program in (report.cost.probes if report.cost else [])
    ]
    disagree = [
        page.line(f"  booked {account}, stack says {seen}: {duration(ns)}")
        for account, seen, ns in report.coverage.disagreements
    ]
    return [
        Section([Text(title, HEADING), *lines], [])
        for title, lines in (("COST BY PROGRAM", programs), ("DISAGREEMENTS", disagree))
        if lines
    ]


__all__ = ["checked", "coverage", "details", "not_measured"]
