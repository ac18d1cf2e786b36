"""The live part of `perfdiag latency` and `perfdiag host`: record, and report where the time went."""

from __future__ import annotations

from perfdiag.capture import session
from perfdiag.capture.progress import say
from perfdiag.capture.recorder import Window
from perfdiag.capture.target import Wanted
from perfdiag.commands import reporting
from perfdiag.common import config
from perfdiag.common.errors import UsageError
from perfdiag.common.text import printable


def measure(wanted: Wanted, window: Window, path: str | None, *, as_json: bool, full: bool, exit_code: bool) -> int:
    """Record what is wanted, with `path` into a file too; print the report, return the exit status."""
    settings = config.load()
    if path == "-":
        raise UsageError("--record -: standard output is for the report", "give a file")
    made = session.run(wanted, window, path, command_stdout_fd=2)

    def report() -> int:
        with made.recorder.recording() as recording:
            return reporting.show(recording, settings, as_json=as_json, full=full, exit_code=exit_code)

    def check() -> None:
        if made.file:
            size = made.file.check(made.recorder.cut_off(), recorder_ended=made.recorder_ended)
            say(f"perfdiag: the recording is in {printable(made.file.path)} ({size:,} bytes)")

    return made.conclude(report, made.check, check)


__all__ = ["measure"]
