"""Reports as a terminal, a pipe or a file shows them."""

from __future__ import annotations

import io
import re

from perfdiag.render import terminal
from perfdiag.render.layout import COLUMNS
from perfdiag.report.assembly import Report
from rich.console import Console


def plain(made: Report, *, full: bool = False, width: int = COLUMNS) -> str:
    """Return the text without colours."""
    return "\n".join(line.plain for line in terminal.lines(made, width, full=full)) + "\n"


def printed(made: Report, **options: object) -> str:
    """Return what a console of 80 columns is sent."""
    stream = io.StringIO()
    terminal.render(made, Console(file=stream, width=80, highlight=False, emoji=False, **options))  # type: ignore[arg-type]
    return stream.getvalue()


def folded(text: str) -> str:
    """Return a text with one space between words, wherever its lines were broken."""
    return re.sub(r"\s+", " ", text).strip()


__all__ = ["folded", "plain", "printed"]
