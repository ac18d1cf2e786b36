"""From a recording to the report on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import IO

import click
from rich.console import Console

from perfdiag.capture.progress import say
from perfdiag.common.config import Config
from perfdiag.common.errors import HINTS, PerfdiagError
from perfdiag.diagnosis import engine
from perfdiag.diagnosis.rule import Severity
from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader
from perfdiag.render import json_document, terminal
from perfdiag.render.layout import COLUMNS, WIDEST
from perfdiag.report import assembly
from perfdiag.report.verdict.sentences import Kind

HEIGHT = 25  # of no meaning: nothing is laid out by it
FINDINGS_STATUS = 10


class Output(Console):
    """Standard output; that its reader has gone is for `show` to decide, not a reason for rich to exit with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def show(stream: IO[bytes], config: Config, *, as_json: bool, full: bool, exit_code: bool) -> int:
    """Read a recording, print its report, and return the exit status.

    Raises RecordingError, and what `show_model` does.
    """
    model = builder.build(reader.read(stream))
    return show_model(model, config, as_json=as_json, full=full, exit_code=exit_code)


def show_model(model: Model, config: Config, *, as_json: bool, full: bool, exit_code: bool) -> int:
    """Print the report of a model, and return the exit status.

    That its reader goes away changes nothing.  Raises PerfdiagError when standard output is full.
    """
    say(*(f"warning: {sentence}" for sentence in config.left_out))
    diagnosis = engine.diagnose(model)
    made = assembly.make(model, diagnosis, config)
    put(json_document.pieces(made) if as_json else lambda output: terminal.render(made, output, full=full), pager=full)
    # Stopped, or waiting for a lock of a database: it is ill without time that a finding could claim.
    ill = made.verdict.kind in (Kind.CAUSE.value, Kind.CAUSES.value)
    faults = ill or any(finding.severity is not Severity.INFO for finding in diagnosis.findings)
    return FINDINGS_STATUS if exit_code and faults else 0


def put(content: bytes | Iterable[bytes] | Callable[[Console], None], *, pager: bool = False) -> None:
    """Write a document, or what draws on a console, to standard output; that nobody reads it on changes nothing.

    With `pager`, what is drawn goes through one where standard output is a terminal.

    Raises PerfdiagError when standard output is full.
    """
    try:
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        elif isinstance(content, Iterable):
            sys.stdout.buffer.writelines(content)
        else:
            # A pipe is coloured for FORCE_COLOR alone; rich does it for TTY_COMPATIBLE=1, too, which build servers set.
            # With both given, rich reads neither COLUMNS nor LINES, where it takes "²" for a number and fails.
            terminal_only = None if sys.stdout.isatty() or os.environ.get("FORCE_COLOR") else False
            console = Output(width=_width(), height=HEIGHT, highlight=False, emoji=False, force_terminal=terminal_only)
            if pager and sys.stdout.isatty() and _may_page():
                _page(content, console)
            else:
                content(console)
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever read it has seen enough
    except OSError as error:
        hint = HINTS.get(error.errno or 0, "send the report somewhere else")
        raise PerfdiagError(error.strerror or str(error), hint) from error


def _may_page() -> bool:
    """Return whether the environment, which names the pager, is that of who runs it, not of who only became root."""
    return len(set(os.getresuid())) == 1


def _page(content: Callable[[Console], None], console: Console) -> None:
    """Show what is drawn in a pager, which starts no shell and ends by itself where a screen holds everything."""
    with console.capture() as drawn:
        content(console)
    os.environ["LESSSECURE"] = "1"
    os.environ.setdefault("LESS", "-FRX")
    click.echo_via_pager(drawn.get(), color=console.is_terminal)


def _width() -> int:
    """Return the width of a report: that of COLUMNS or the terminal, up to the widest; 80 columns without either."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isascii() and wanted.isdigit() and (digits := wanted.lstrip("0")):
        return min(WIDEST, int(digits[: len(str(WIDEST)) + 1]))  # what has more digits is wider; int() takes 4,300
    try:
        return min(WIDEST, os.get_terminal_size(1).columns or COLUMNS)
    except OSError:
        return COLUMNS


__all__ = ["FINDINGS_STATUS", "put", "show", "show_model"]
