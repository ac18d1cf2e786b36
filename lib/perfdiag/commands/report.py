"""perfdiag report: the report of a recording, or of a guest's joined with its host's, without privileges."""

import os
import pwd
from contextlib import ExitStack
from typing import IO

import click

from perfdiag.capture import progress
from perfdiag.commands import candidates, input_files, reporting, settings
from perfdiag.commands.options import Presentation, report_options
from perfdiag.common import cycles, privileges
from perfdiag.common.errors import PerfdiagError, RecordingError, UsageError
from perfdiag.common.text import printable
from perfdiag.model import builder
from perfdiag.model.guest import join_recordings
from perfdiag.model.model import Model
from perfdiag.recording import reader

MOST_FILES = 2
PATIENCE_S = 2.0  # before it is said what is waited for: a recorder says its first line sooner


@click.command("report", short_help="Report what a recording says, on any machine.")
@click.argument("paths", metavar="FILE [FILE]", nargs=-1, required=True, shell_complete=candidates.files)
@report_options
def command(paths: tuple[str, ...], presentation: Presentation) -> int:
    """Report a recording, made here or on another machine; "-" reads standard input.

    Two recordings are joined, in any order: one made inside a guest, and one made at the same time on its host, of its
    emulator. Needs no privileges, and gives them up before the first byte is read.
    """
    privileges.become_caller()
    if len(paths) > MOST_FILES:
        raise UsageError(
            f"{len(paths)} files: report takes one recording, or one of a guest and one of its host",
            "run perfdiag report FILE for each of the others",
        )
    if len(set(paths)) < len(paths):
        raise UsageError(
            "the same file twice: only recordings of a guest and of its host can be joined", "perfdiag report FILE"
        )
    if presentation.path and any(_is_same(presentation.path, path) for path in paths):
        raise UsageError("-o is the recording itself: the report would replace it", "give another file")
    config = settings.load()
    with ExitStack() as stack:
        streams = [stack.enter_context(_opened(path)) for path in paths]
        destination = stack.enter_context(reporting.destination(presentation))
        privileges.drop()
        stack.enter_context(cycles.not_searched())
        models = [_read(stream, path, len(paths)) for path, stream in zip(paths, streams, strict=True)]
        joined = len(models) == MOST_FILES
        model = join_recordings.join(*map(join_recordings.Source, paths, models)) if joined else models[0]
        return reporting.show_model(model, config, destination)


def _is_same(output: str, path: str) -> bool:
    try:
        return path != "-" and os.path.samefile(output, path)
    except OSError:  # not there, or closed: told when it is opened
        return False


def _opened(path: str) -> IO[bytes]:
    """Open a recording; say so and wait if it has no data yet. Raises PerfdiagError."""
    waiting = f"perfdiag: {printable(path)} has no data yet; waiting, Ctrl-C ends it"
    if not path:
        raise UsageError("the recording has no name", "is a variable of a script not set?")
    try:
        if path == "-":
            return input_files.standard_input("pass it a recording: perfdiag report - < FILE")
        return input_files.opened(path, PATIENCE_S, lambda: progress.tell(waiting))
    except OSError as error:
        raise PerfdiagError(f"cannot read {printable(path)}: {error.strerror}", _hint(path, error)) from error


def _read(stream: IO[bytes], path: str, of: int) -> Model:
    """Read a recording. Raises RecordingError, which names the file if there are several."""
    try:
        return builder.build(reader.read(stream))
    except RecordingError as error:
        raise RecordingError(f"{printable(path)}: {error}" if of > 1 else str(error), error.hint) from error
    except OSError as error:
        name = "standard input" if path == "-" else printable(path)
        hint = "copy it to another file system, or record again"
        raise RecordingError(f"cannot read {name}: {error.strerror}", hint) from error


def _hint(path: str, error: OSError) -> str:
    """Return the hint for a recording that cannot be opened: recordings are readable only for their owner."""
    if not isinstance(error, PermissionError):
        return "make a recording with perfdiag record -o FILE"
    try:
        owner = os.stat(path).st_uid
    except OSError:
        return f"a directory above it is closed to {_user(os.geteuid())}: ask its owner for a copy"
    # Under sudo too: the file is opened with the rights of the user behind it.
    return f"it belongs to {_user(owner)}: report it as that user, or run sudo cat FILE | perfdiag report -"


def _user(number: int) -> str:
    try:
        return printable(pwd.getpwuid(number).pw_name)
    except KeyError:
        return f"user {number}"
