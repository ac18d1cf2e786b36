"""The report for people: at most 45 lines at 80 columns, the rest with `full`.

Colour is never the only carrier of a meaning; piped output and NO_COLOR get plain text (rich sees to it).

    python -m perfdiag.render.terminal [FILE.json] [--full]     draws a report made with --json
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from perfdiag.render.account_tables import still_waiting, threads, where
from perfdiag.render.coverage import checked, coverage, details, not_measured
from perfdiag.render.findings import causes
from perfdiag.render.guest_host import host_side
from perfdiag.render.head import head, verdict, work
from perfdiag.render.host_consumers import everyone
from perfdiag.render.layout import COLUMNS, LINES, Page, arrange
from perfdiag.render.requests import requests
from perfdiag.render.stacks import stacks
from perfdiag.report.assembly import Report

NARROWEST = 40
DEMO = Path(__file__).resolve().parents[3] / "tests/data/golden/flush.json"


def render(report: Report, console: Console, full: bool = False) -> None:
    """Print the report on `console`."""
    draw(lines(report, width(console), full=full), console)


def width(console: Console) -> int:
    """Return how wide the lines of a report are on `console`."""
    return min(max(console.width, NARROWEST), COLUMNS)


def draw(page: Iterable[Text], console: Console) -> None:
    """Print lines as they are."""
    for line in page:
        console.print(_encodable(line, console.encoding), soft_wrap=True, highlight=False)


def lines(report: Report, width: int = COLUMNS, *, full: bool = False) -> list[Text]:
    """Return the lines of the report, none wider than `width` cells; without `full` at most 45 at 80 columns."""
    page = Page(width, full)
    sections = [
        head(report, page),
        verdict(report, page),
        work(report, page),
        requests(report, page),
        where(report, page),
        everyone(report, page),
        still_waiting(report, page),
        host_side(report, page),
        causes(report, page),
        *checked(report, page),
        not_measured(report, page),
        *([threads(report, page), stacks(report, page), *details(report, page)] if full else []),
        coverage(report, page),
    ]
    return arrange(sections, None if full else LINES)


def _encodable(line: Text, encoding: str) -> Text:
    """Replace what the terminal's encoding does not have by "?", which is never wider."""
    try:
        line.plain.encode(encoding)
    except UnicodeEncodeError:
        line = line.copy()
        line.plain = "".join(c if c.encode(encoding, "ignore") else "?" for c in line.plain)
    return line


def main(arguments: list[str]) -> None:
    """Draw a report from a JSON document: a demo, and a look at what a host without perfdiag's rules sent."""
    paths = [Path(argument) for argument in arguments if argument != "--full"]
    document = (paths[0] if paths else DEMO).read_bytes()
    render(msgspec.json.decode(document, type=Report), Console(), full="--full" in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])

__all__ = ["draw", "lines", "render", "width"]
