"""From a recording to the report on standard output."""

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

import click
from rich.console import Console

from perfdiag.capture import output_file
from perfdiag.capture.output_file import OutFile
from perfdiag.capture.progress import say, tell
from perfdiag.commands.options import APPLICATIONS, Presentation
from perfdiag.common import cycles
from perfdiag.common.config import Config
from perfdiag.common.errors import HINTS, PerfdiagError
from perfdiag.common.text import printable
from perfdiag.diagnosis import engine, policy
from perfdiag.diagnosis.rule import Severity
from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader
from perfdiag.render import json_document, terminal
from perfdiag.render.layout import COLUMNS, WIDEST
from perfdiag.report import assembly
from perfdiag.report.contract import Application
from perfdiag.report.verdict.sentences import Kind

HEIGHT = 25  # of no meaning: nothing is laid out by it
FINDINGS_STATUS = 10


class Output(Console):
    """Standard output; `show` handles a closed pipe, instead of rich, which would exit with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@dataclass
class Destination:
    """Where a report goes: standard output, or a file opened with the caller's rights."""

    presentation: Presentation
    file: OutFile | None
    written: bool = False

    def put(self, content: bytes | Iterable[bytes] | Callable[[Console], None], *, pager: bool = False) -> None:
        """Write a document, or whatever draws on a console; a closed pipe is no error.

        With `pager`, drawings go through a pager if standard output is a terminal. Raises PerfdiagError if it cannot be
        written.
        """
        if self.file is None:
            _print(content, self.presentation.color, pager=pager)
            return
        self.written = True
        self.file.begin()
        with suppress(BrokenPipeError), os.fdopen(os.dup(self.file.fd), "wb") as stream:  # why: check_report()
            stream.writelines(_pieces(content, self.presentation.color))
        self.file.check_report()
        tell(f"perfdiag: the report is in {printable(self.file.path)}")


@contextmanager
def destination(presentation: Presentation) -> Iterator[Destination]:
    """Open the file for a report, if one was given; it is removed if no report is made. Raises PerfdiagError if it
    cannot be written."""
    file = output_file.create(presentation.path, whole=True) if presentation.path else None
    opened = Destination(presentation, file)
    try:
        yield opened
    finally:
        if opened.file and not opened.written:
            opened.file.discard()


def show(stream: IO[bytes], config: Config, to: Destination) -> int:
    """Read a recording, write its report, and return the exit status.

    Raises RecordingError, and what `show_model` does.
    """
    with cycles.not_searched():
        return show_model(builder.build(reader.read(stream)), config, to)


def show_model(model: Model, config: Config, to: Destination) -> int:
    """Write the report of a model, and return the exit status; a closed pipe is no error. Raises PerfdiagError if it
    cannot be written."""
    say(*(f"warning: {sentence}" for sentence in config.left_out))
    with policy.in_force(config.thresholds):
        diagnosis = engine.diagnose(model)
        made = assembly.make(model, diagnosis, config)
    model.derived.clear()  # nobody asks any more, and rendering takes memory, too
    full = to.presentation.full
    if to.presentation.as_json:
        to.put(json_document.pieces(made))
    else:
        to.put(lambda output: terminal.render(made, output, full=full), pager=full)
    _demand(made.target.applications, to.presentation.apps)
    # Stopped, or waiting for a lock of a database: it is ill without time that a finding could claim.
    ill = made.verdict.kind in (Kind.CAUSE.value, Kind.CAUSES.value)
    faults = ill or any(finding.severity is not Severity.INFO for finding in diagnosis.findings)
    return FINDINGS_STATUS if to.presentation.exit_code and faults else 0


def _demand(found: Sequence[Application], wanted: Iterable[str]) -> None:
    """Raise PerfdiagError if one of these applications was not recognised, or nothing could be read of it."""
    for name in wanted:
        of_kind = [each for each in found if each.kind == APPLICATIONS[name]]
        if not of_kind:
            hint = "--full shows what was, and NOT MEASURED why not; --no-apps recognises none"
            raise PerfdiagError(f"--app {name}: none was recognised among the targets", hint)
        if unread := next((each for each in of_kind if not each.means), None):
            raise PerfdiagError(f"--app {name}: recognised, but not read: {unread.lack or 'nothing says why'}")


def _pieces(content: bytes | Iterable[bytes] | Callable[[Console], None], color: str) -> Iterable[bytes]:
    """Return what goes into a file."""
    if isinstance(content, bytes):
        return [content]
    if isinstance(content, Iterable):
        return content
    text = io.StringIO()
    content(_console(color, text))
    return [text.getvalue().encode(errors="backslashreplace")]


def _print(content: bytes | Iterable[bytes] | Callable[[Console], None], color: str, *, pager: bool) -> None:
    """Write to standard output.  Raises PerfdiagError when it is full."""
    try:
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        elif isinstance(content, Iterable):
            sys.stdout.buffer.writelines(content)
        else:
            console = _console(color)
            if pager and sys.stdout.isatty() and _may_page():
                _page(content, console)
            else:
                content(console)
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever read it has seen enough
    except OSError as error:
        hint = HINTS.get(error.errno or 0, "send the report to another file")
        raise PerfdiagError(error.strerror or str(error), hint) from error


def _console(color: str, file: IO[str] | None = None) -> Console:
    """Return the console for a report: of a file, else of standard output."""
    # With both given, rich reads neither COLUMNS nor LINES, where it takes "²" for a number and fails.
    shape: dict[str, Any] = {"width": _width(of_file=file is not None), "height": HEIGHT, "file": file}
    if color == "always":
        shape |= {"force_terminal": True, "no_color": False, "color_system": "standard"}
    elif color == "never":
        shape |= {"force_terminal": False, "no_color": True}
    elif file is not None or not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR")):
        # A pipe is coloured for FORCE_COLOR alone; rich does it for TTY_COMPATIBLE=1, too, which build servers set.
        shape |= {"force_terminal": False}
    return Output(highlight=False, emoji=False, **shape)


def _may_page() -> bool:
    """Return whether the environment, which names the pager, belongs to the user and not to someone who only became
    root."""
    return len(set(os.getresuid())) == 1


def _page(content: Callable[[Console], None], console: Console) -> None:
    """Show a drawing in a pager, which starts no shell and ends by itself if one screen holds everything."""
    with console.capture() as drawn:
        content(console)
    os.environ["LESSSECURE"] = "1"
    os.environ.setdefault("LESS", "-FRX")
    click.echo_via_pager(drawn.get(), color=console.is_terminal)


def _width(*, of_file: bool) -> int:
    """Return the width of a report: that of COLUMNS or the terminal, up to the widest; 80 columns without either."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isascii() and wanted.isdigit() and (digits := wanted.lstrip("0")):
        return min(WIDEST, int(digits[: len(str(WIDEST)) + 1]))  # what has more digits is wider; int() takes 4,300
    if of_file:
        return COLUMNS
    try:
        return min(WIDEST, os.get_terminal_size(1).columns or COLUMNS)
    except OSError:
        return COLUMNS
