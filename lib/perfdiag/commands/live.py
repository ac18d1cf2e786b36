"""The live part of `perfdiag latency` and `perfdiag host`: record, and report where the time went."""

import os

from perfdiag.capture import session
from perfdiag.capture.progress import tell
from perfdiag.capture.recorder import Window
from perfdiag.capture.target import Wanted
from perfdiag.commands import reporting, settings
from perfdiag.commands.options import Presentation
from perfdiag.common.errors import UsageError
from perfdiag.common.text import printable


def measure(wanted: Wanted, window: Window, path: str | None, presentation: Presentation) -> int:
    """Record the target, with `path` also into a file; print the report, return the exit status."""
    config = settings.load()
    if path == "-":
        raise UsageError("--record -: standard output is for the report", "give a file")
    if path and presentation.path and os.path.realpath(path) == os.path.realpath(presentation.path):
        raise UsageError(f"-o and --record name the same file: {printable(path)}", "give one of them another file")
    with reporting.destination(presentation) as destination:
        budgeted = window if window.host else settings.with_budget(window, config)
        made = session.run(wanted, budgeted, path, command_stdout_fd=2)

        def report() -> int:
            with made.recorder.recording() as recording:
                return reporting.show(recording, config, destination)

        return made.conclude(report, made.check, lambda: _check(made))


def _check(made: session.Session) -> None:
    """Say where the recording is, if it was kept. Raises PerfdiagError if it is not complete."""
    if made.file:
        size = made.file.check(made.recorder.cut_off(), recorder_ended=made.recorder_ended)
        tell(f"perfdiag: the recording is in {printable(made.file.path)} ({size:,} bytes)")
