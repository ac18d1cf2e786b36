"""perfdiag latency: record a live process and report where its time went."""

from typing import Any

import click

from perfdiag.commands import live
from perfdiag.commands.options import (
    Presentation,
    TargetCommand,
    recording_option,
    report_options,
    target_options,
    wanted_and_window,
)


@click.command("latency", cls=TargetCommand)
@target_options
@report_options
@recording_option
def command(path: str | None, presentation: Presentation, **options: Any) -> int:
    """Record a live process and report where its time went.

    Select the process with one of --pid, --name, --port, --unit, --container, --cgroup, or give a COMMAND, which is
    measured from its first instruction: its standard output goes to standard error, and its exit status is passed on.
    """
    wanted, window = wanted_and_window(options)
    return live.measure(wanted, window, path, presentation)
