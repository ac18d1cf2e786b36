"""The live part of `perfdiag host`: record all tasks of this machine and report where their time went."""

from __future__ import annotations

from perfdiag import config
from perfdiag.commands import reporting, session
from perfdiag.errors import UsageError
from perfdiag.progress import say
from perfdiag.record import Window
from perfdiag.target import Wanted
from perfdiag.text import printable


def record(window: Window, path: str | None, *, as_json: bool, full: bool, exit_code: bool) -> int:
    """Record for so long, with `path` into a file too; print the report and return the exit status."""
    settings = config.load()
    if path == "-":
        raise UsageError("--record -: standard output is for the report", "give a file")
    made = session.run(Wanted(), window, path, command_stdout_fd=2)

    def report() -> int:
        with made.recorder.recording() as recording:
            return reporting.show(recording, settings, "perfdiag host", as_json=as_json, full=full, exit_code=exit_code)

    def check() -> None:
        if made.file:
            size = made.file.check(made.recorder.cut_off())
            say(f"perfdiag: the recording is in {printable(made.file.path)} ({size:,} bytes)")

    return made.conclude(report, check)


__all__ = ["record"]
