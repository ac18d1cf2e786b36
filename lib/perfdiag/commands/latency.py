"""perfdiag latency: record a live process and report where its time went."""

from __future__ import annotations

from typing import Any

import click

from perfdiag import config
from perfdiag.commands import reporting, session
from perfdiag.commands.options import TargetCommand, report_options, target_options, wanted_and_window
from perfdiag.progress import say
from perfdiag.text import printable


@click.command("latency", cls=TargetCommand)
@target_options
@report_options
@click.option("--record", "path", metavar="FILE", help="Keep the recording in FILE too.")
def command(path: str | None, as_json: bool, full: bool, exit_code: bool, **options: Any) -> int:
    """Record a live process and report where its time went.

    The process is given by one of --pid, --name, --port, --unit, --container, --cgroup, or as a COMMAND, which is
    measured from its first instruction: its standard output goes to standard error, and its exit status is passed on.
    """
    wanted, window = wanted_and_window(options)
    settings = config.load()
    if path == "-":
        raise click.UsageError("--record -: standard output is for the report")
    made = session.run(wanted, window, path, command_stdout_fd=2)

    def report() -> int:
        with made.recorder.recording() as recording:
            asked = f"perfdiag latency {wanted.words}"
            return reporting.show(recording, settings, asked, as_json=as_json, full=full, exit_code=exit_code)

    def check() -> None:
        if made.file:
            size = made.file.check(made.recorder.cut_off())
            say(f"perfdiag: the recording is in {printable(made.file.path)} ({size:,} bytes)")

    return made.conclude(report, check)


__all__ = ["command"]
