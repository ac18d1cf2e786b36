"""The last lines of a report: what is ruled out, what was not measured, how far to believe it."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from perfdiag.common.units import first_of
from perfdiag.diagnosis.rules import RULES
from perfdiag.render import coverage, ruledout
from perfdiag.render.layout import ESSENTIAL, HEADING, Block, Chunk, Page, Section
from perfdiag.render.problem import faults
from perfdiag.report.contract import NotMeasured, Report

_SHOWN = 3  # of what was not measured
_FULL = ": --full"
_TITLES = 2  # of rules that kept silent for one reason


def last(report: Report, page: Page) -> Section:
    """Return these lines; only what matters to this report counts as not measured."""
    missing = [item for item in report.not_measured if item.matters]
    label = f"{'':<{14 if missing else 12}}"
    ruled_out = ruledout.in_words(report, page, _label("RULED OUT", label), 1 if len(faults(report)) > 1 else 2)
    blocks: list[Block] = []
    for index, item in enumerate(missing[:_SHOWN]):
        first = _label("NOT MEASURED", label) if not index else label
        blocks.append([Chunk(_missing(item, page, first), ESSENTIAL + 40 + 10 * index)])

    def fold(hidden: Sequence[int]) -> list[Text]:
        first = label if 0 not in hidden else _label("NOT MEASURED", label)
        lines = _as_fit(missing[min(hidden) :], first, page)
        return [_bold(lines[0], label), *lines[1:]]

    believed = [] if coverage.doubts(report, page) else _trust(report, page, _label("TRUST", label))
    return Section(ruled_out, blocks, fold, believed)


def _trust(report: Report, page: Page, label: str) -> list[Text]:
    agreement = report.coverage.stack_agreement
    doubted = agreement is None or agreement < 1
    lines = page.wrapped(coverage.line(report, stacks=page.full or doubted), first=label, limit=2)
    return [_bold(lines[0], label), *lines[1:]]


def _label(name: str, label: str) -> str:
    return f"{name:<{len(label)}}"


def _bold(line: Text, label: str) -> Text:
    line.stylize(HEADING, 0, len(label))
    return line


def _would_tell(item: NotMeasured) -> list[str]:
    """Return what would be known: for rules without an answer, what each of them finds."""
    return [f"whether {RULES[id].title[:1].lower()}{RULES[id].title[1:]}" for id in item.ids if id in RULES] or [
        item.what
    ]


def _as_fit(items: Sequence[NotMeasured], first: str, page: Page) -> list[Text]:
    """Return the line of what as many of these as it has room for would tell, and how many more there are; if it has
    none for one, the shortest in two."""
    whats = [what for item in items for what in _would_tell(item)]
    lines = (f"{first}{first_of(whats, number)}{_FULL}" for number in range(len(whats), 0, -1))
    if whole := next((line for line in lines if cell_len(line) <= page.width), ""):
        return [Text(whole)]
    return page.wrapped(f"{first_of(sorted(whats, key=len), 1)}{_FULL}", first=first, limit=2)


def _missing(item: NotMeasured, page: Page, first: str) -> list[Text]:
    """Return what would be known, and the command or place that shows it, or else why not."""
    would_tell = first_of(_would_tell(item), _TITLES)
    lines = page.wrapped(f"{would_tell}: {item.fix or item.reason}", first=first, rest=" " * len(first), limit=3)
    return [_bold(lines[0], first), *lines[1:]]


def short(report: Report, page: Page, gap: bool) -> Section:
    """Return the same in as few lines as possible, if nothing is wrong; `gap`: below other sections."""
    believed, counted = coverage.line(report, stacks=False), ruledout.number(report)
    joined = f"RULED OUT  {counted} (--full)  TRUST  {believed.replace(' of thread time', '')}"
    if report.checked and cell_len(joined) <= page.width:
        lines = [Text(joined)]
        lines[0].stylize(HEADING, 0, len("RULED OUT"))
        start = joined.index("TRUST")
        lines[0].stylize(HEADING, start, start + len("TRUST"))
    else:
        lines = ruledout.in_words(report, page, "RULED OUT   ", 1, subjects=False)
        lines += _trust(report, page, "TRUST       ")
    return Section([*_given_up(report, page), *lines], [], gap=gap)


def _given_up(report: Report, page: Page) -> list[Text]:
    """Return what was given up in the window and could have told of something wrong."""
    missing = [item for item in report.not_measured if item.given_up and item.matters]
    firsts = ["NOT MEASURED  ", *[" " * 14] * len(missing)]
    return [line for item, first in zip(missing, firsts, strict=False) for line in _missing(item, page, first)]


def not_measured(report: Report, page: Page) -> Section:
    """Return, for a full page, all that was not measured: what it would have shown, why not, and what shows it."""
    lines = [Text("NOT MEASURED", HEADING)] if report.not_measured else []
    for item in report.not_measured:
        lines += page.wrapped(f"{item.what}: {item.reason}", rest="    ")
        lines += page.wrapped(item.fix, first="    ") if item.fix else []
    return Section(lines, [])
