"""A few lines behind a label, each one thing that may be the cause; what has no room is counted."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import plural
from perfdiag.render.layout import ESSENTIAL, HEADING, NEVER, Page, Section

_FIRST_RANK, _RANK_EACH = 3, 10


def labelled_lines(
    page: Page, label: str, texts: Sequence[str], most: int, noun: str, of: str = "", gap: bool = True
) -> Section:
    """Return a section of `texts` behind `label`: at most so many unless the page is full, the rest as so many of
    the noun: "more kind", " of trouble"."""
    blocks = []
    for index, text in enumerate(texts):
        rank = _FIRST_RANK if not index else ESSENTIAL + _RANK_EACH * index if index < most else NEVER
        chunk = page.chunk(text, rank, first=" " * len(label) if index else label, limit=2)
        if not index:
            chunk.lines[0].stylize(HEADING, 0, len(label))
        blocks.append([chunk])

    def fold(hidden: Sequence[int]) -> list[Text]:
        first = label if 0 in hidden else " " * len(label)
        return [page.line(f"{first}{plural(len(hidden), noun)}{of}: --full")]

    return Section([], blocks, fold, gap=gap)
