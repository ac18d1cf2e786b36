"""What the kernel logged in the window: trouble that may be the cause, or tells more about it."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import count, plural
from perfdiag.render.layout import ESSENTIAL, HEADING, Page, Section
from perfdiag.report.contract import KernelSaid, Report

_LABEL = "KERNEL LOG  "
_SHOWN = 3  # kinds of lines; a full page has all


def kernel_log(report: Report, page: Page) -> Section:
    """Return the lines, each kind once."""
    shown = report.kernel_log[: page.limit(_SHOWN)]
    blocks = []
    for index, said in enumerate(shown):
        first = " " * len(_LABEL) if index else _LABEL
        chunk = page.chunk(_told(said), 3 if not index else ESSENTIAL + 10 * index, first=first, limit=2)
        if not index:
            chunk.lines[0].stylize(HEADING, 0, len(_LABEL))
        blocks.append([chunk])
    hidden_before = len(report.kernel_log) - len(shown)

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [page.line(f"{_LABEL}{plural(len(hidden) + hidden_before, 'more kind')} of trouble: --full")]

    return Section([], blocks, fold)


def _told(said: KernelSaid) -> str:
    return said.text if said.count == 1 else f"{said.text} ({count(said.count)} times)"
