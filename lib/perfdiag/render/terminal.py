"""The report on a terminal: 24 lines if possible, never more than 40, the rest with `full`.

Colour is never the only carrier of a meaning; piped output and NO_COLOR get plain text (rich sees to it). python -m
perfdiag.render.terminal [FILE.json] [--full] draws a report made with --json
"""

import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from perfdiag.render import coverage, ruledout
from perfdiag.render.account_tables import where
from perfdiag.render.findings import causes
from perfdiag.render.guest_host import host_side
from perfdiag.render.head import head
from perfdiag.render.java import java
from perfdiag.render.kernel_log import kernel_log
from perfdiag.render.last import last, not_measured, short
from perfdiag.render.layout import COLUMNS, LINES, MOST_LINES, WIDEST, Page, Section, arrange
from perfdiag.render.problem import fix, problem
from perfdiag.render.requests import requests
from perfdiag.render.stacks import stacks
from perfdiag.render.statements import named_calls, sql_calls, statements
from perfdiag.render.threads import still_waiting, threads
from perfdiag.render.unusual import unusual
from perfdiag.render.work import work
from perfdiag.report.contract import Report
from perfdiag.report.status import IDLE_WORD, OK

NARROWEST = 40
_AT_ONCE = 100  # lines: each print takes its time, and each line its memory
DEMO = Path(__file__).resolve().parents[3] / "tests/data/golden/flush.json"


def render(report: Report, console: Console, full: bool = False) -> None:
    """Print the report on `console`."""
    draw(lines(report, width(console), full=full), console)


def width(console: Console) -> int:
    """Return how wide the lines of a report are on `console`."""
    return min(max(console.width, NARROWEST), WIDEST)


def draw(page: Iterable[Text], console: Console) -> None:
    """Print lines as they are."""
    left = iter(page)
    while some := [_encodable(line, console.encoding) for line in islice(left, _AT_ONCE)]:
        console.print(Text("\n").join(some), soft_wrap=True, highlight=False)


def lines(report: Report, width: int = COLUMNS, *, full: bool = False) -> list[Text]:
    """Return the lines of the report, none wider than `width` cells; without `full` at most 40 at 80 columns."""
    page = Page(width, full)
    sections = [
        head(report, page),
        coverage.warning(report, page),
        problem(report, page),
        fix(report, page),
        unusual(report, page),
        kernel_log(report, page),
    ]
    if full:
        return arrange([*sections, *_everything(report, page)], None)
    if report.verdict.status in (OK, IDLE_WORD) and not report.everyone and not coverage.doubts(report, page):
        asked = [requests(report, page), work(report, page), still_waiting(report, page), host_side(report, page)]
        below = any(section.blocks or section.heading for section in asked)
        return arrange([*sections, *asked, short(report, page, gap=below)], LINES, MOST_LINES)
    sections += [
        *where(report, page),
        requests(report, page),
        work(report, page),
        still_waiting(report, page),
        host_side(report, page),
        causes(report, page),
        last(report, page),
    ]
    return arrange(sections, LINES, MOST_LINES)


def _everything(report: Report, page: Page) -> list[Section]:
    """Return the sections of a full page, in the order a reader asks for them."""
    return [
        *where(report, page),
        requests(report, page),
        work(report, page),
        still_waiting(report, page),
        host_side(report, page),
        statements(report, page),
        sql_calls(report, page),
        named_calls(report, page),
        java(report, page),
        causes(report, page),
        *ruledout.in_full(report, page),
        threads(report, page),
        stacks(report, page),
        not_measured(report, page),
        *coverage.in_full(report, page),
    ]


def _encodable(line: Text, encoding: str) -> Text:
    """Replace what the terminal's encoding does not have by "?", which is never wider."""
    try:
        line.plain.encode(encoding)
    except UnicodeEncodeError:
        line = line.copy()
        line.plain = "".join(c if c.encode(encoding, "ignore") else "?" for c in line.plain)
    return line


def main(arguments: list[str]) -> None:
    """Draw a report from a JSON document, as a demo or on another host."""
    paths = [Path(argument) for argument in arguments if argument != "--full"]
    document = (paths[0] if paths else DEMO).read_bytes()
    render(msgspec.json.decode(document, type=Report), Console(), full="--full" in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
