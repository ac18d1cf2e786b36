"""Lines that fit: wrapping by terminal cells, and a page with a limit of lines that folds the least important parts.

A page has a comfortable length, that of a terminal, and a maximum: essential parts may use the lines between. It is
made of sections, a section of blocks (a row, a finding), a block of chunks (its title, its claim, its remedy). Every
chunk has a rank; if lines are short, chunks of higher rank go first, and a section whose last blocks are hidden says
what they were: nothing is dropped silently.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

LINES = 24  # of a terminal
MOST_LINES = 40  # if what is essential takes them
COLUMNS = 80
WIDEST = 132
ESSENTIAL = 100  # ranks below it
NEVER = 1_000_000  # a rank that only a full page shows
HEADING = "bold"
DIM = "dim"
NEAR = 0.75  # of a line: what is left of it where it is cut at a word


@dataclass(frozen=True)
class Chunk:
    """Lines that are shown together or not at all; a chunk is shown only after those before it in its block."""

    lines: Sequence[Text]
    rank: int = 0
    aside: bool = False  # those after it are shown without it, too


Block = Sequence[Chunk]

# A number and its unit stay on one line; texts of a report hold no control characters, so one can glue them.
_GLUE = "\0"
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[KMGTP]iB|B|GHz|MHz|ns|us|ms|s|h|min)(?:[^\w]|$))")


def _nothing(hidden: Sequence[int]) -> Sequence[Text]:
    return ()


@dataclass
class Section:
    """A heading, blocks, and lines at the end that are always shown; `fold` stands for blocks not shown at all."""

    heading: Sequence[Text]
    blocks: Sequence[Block]
    fold: Callable[[Sequence[int]], Sequence[Text]] = _nothing
    tail: Sequence[Text] = ()
    gap: bool = True  # an empty line before it
    closed: Sequence[Text] = ()  # instead of heading and fold where no block is shown
    shown: list[set[int]] = field(default_factory=list)  # numbers of the chunks shown of each block

    def lines(self) -> list[Text]:
        """Return the lines as chosen so far."""
        if self.closed and not any(self.shown):
            found = [*self.closed, *self.tail]
            return [Text(), *found] if self.gap else found
        found = list(self.heading)
        for block, shown in zip(self.blocks, self.shown, strict=True):
            for number in sorted(shown):
                found += block[number].lines
        hidden = [index for index, shown in enumerate(self.shown) if not shown]
        found += (*(self.fold(hidden) if hidden else ()), *self.tail)
        return [Text(), *found] if self.gap and found else found


@dataclass(frozen=True)
class Page:
    """The width of a page, and whether its length is unlimited."""

    width: int
    full: bool = False

    def limit(self, lines: int) -> int | None:
        """Return how many lines a text may take: no limit on a full page."""
        return None if self.full else lines

    def wrapped(
        self, text: str, *, first: str = "  ", rest: str | None = None, limit: int | None = None, style: str = ""
    ) -> list[Text]:
        """Return `text` as lines, at most `limit` of them unless the page is full."""
        limit = None if limit is None else self.limit(limit)
        return [Text(line, style) for line in wrap(text, self.width, first=first, rest=rest, limit=limit)]

    def line(self, text: str, style: str = "") -> Text:
        """Return `text` as one line, cut if it must be."""
        return Text(clip(text, self.width), style)

    def chunk(
        self,
        text: str,
        rank: int,
        *,
        first: str = "  ",
        rest: str | None = None,
        limit: int | None = None,
        aside: bool = False,
        style: str = "",
    ) -> Chunk:
        """Return a chunk of `wrapped` lines."""
        return Chunk(self.wrapped(text, first=first, rest=rest, limit=limit, style=style), rank, aside)


def arrange(sections: Sequence[Section], budget: int | None, most: int = 0) -> list[Text]:
    """Return the lines of a page: everything without a budget, else what matters most and fits. Essential parts fit as
    long as they need no more than `most` lines."""
    for section in sections:
        section.shown = [set() if budget is not None else set(range(len(block))) for block in section.blocks]
    if budget is not None:
        _choose(sections, budget, max(budget, most))
    return [line for section in sections for line in section.lines()]


def _choose(sections: Sequence[Section], budget: int, most: int) -> None:
    lengths = [len(section.lines()) for section in sections]
    begun = [0] * len(sections)  # blocks of each that are shown, the first ones
    candidates = sorted(
        (chunk.rank, place, index, number)
        for place, section in enumerate(sections)
        for index, block in enumerate(section.blocks)
        for number, chunk in enumerate(block[:most])  # each has a line at least
        if chunk.rank < NEVER
    )
    for rank, place, index, number in candidates:
        section = sections[place]
        block, shown = section.blocks[index], section.shown[index]
        given_up = any(not chunk.aside and before not in shown for before, chunk in enumerate(block[:number]))
        if given_up or (number == 0 and index != begun[place]):
            continue  # what stands before it
        shown.add(number)
        length = len(section.lines())
        if sum(lengths) - lengths[place] + length <= (most if rank < ESSENTIAL else budget):
            lengths[place] = length
            begun[place] += number == 0
        else:
            shown.remove(number)


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None, limit: int | None = None) -> list[str]:
    """Break `text` into lines of at most `width` cells, begun with `first` and then `rest` (default: as wide).

    With a `limit` the last line that is allowed ends in "..." if there was more.
    """
    whole = first + " ".join(text.split())
    if cell_len(whole) <= width:
        return [whole]
    rest = " " * cell_len(first) if rest is None else rest
    lines, line, empty = [], first, True
    room = width - max(cell_len(first), cell_len(rest))
    for word in _UNIT.sub(_GLUE, text).split():
        word = word.replace(_GLUE, " ")
        for piece in [word] if cell_len(word) <= room else chop_cells(word, room):
            joined = line + piece if empty else f"{line} {piece}"
            if empty or cell_len(joined) <= width:
                line, empty = joined, False
            else:
                lines.append(line)
                line = rest + piece
    lines.append(line)
    if limit is not None and len(lines) > limit:
        lines = [*lines[: limit - 1], clip(lines[limit - 1] + " " + "." * width, width)]
    return lines


def clip(text: str, width: int) -> str:
    """Cut `text` to `width` cells; what was cut ends in "...", behind a whole part or word if one ends near there."""
    if cell_len(text) <= width:
        return text
    cut = set_cell_size(text, max(0, width - 3))
    near = int(len(cut) * NEAR)
    if (part := cut.rfind(", ", near)) >= 0:
        return cut[: part + 2] + "..."
    if (word := cut.rfind(" ", near)) >= 0 and text[len(cut)] != " ":
        cut = cut[:word]
    return cut.rstrip(" .") + "..."[:width]


def pad(text: str, width: int) -> str:
    """Make `text` exactly `width` cells wide."""
    return set_cell_size(clip(text, width), width)


def apart(left: str, right: str, width: int) -> str:
    """Put two texts on one line, the second at its right end and not cut unless it fills the line alone."""
    if not right:
        return clip(left, width)
    right = clip(right, width)
    room = width - cell_len(right) - 2
    return right if room < 1 else pad(left, room) + "  " + right


def fit_on_one_line(left: str, right: str, width: int) -> bool:
    """Return whether `apart` cuts neither of two texts."""
    return cell_len(left) + 2 + cell_len(right) <= width


def heading(left: str, right: str, width: int) -> list[Text]:
    """Return a heading with a remark at its right end; below it, indented, where one line has no room for both."""
    if not right or fit_on_one_line(left, right, width):
        return [Text(apart(left, right, width), HEADING)]
    return [Text(clip(left, width), HEADING), *(Text(line) for line in wrap(right, width, first="  "))]
