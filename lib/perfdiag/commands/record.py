"""perfdiag record: make a recording here and report it anywhere."""

from typing import Any

import click

from perfdiag.capture import session
from perfdiag.capture.progress import be_quiet, tell
from perfdiag.commands import candidates, settings
from perfdiag.commands.options import TargetCommand, quiet_option, target_options, wanted_and_window
from perfdiag.common.text import typed_path


@click.command("record", cls=TargetCommand, short_help="Record a live process into a file.")
@click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    shell_complete=candidates.files,
    required=True,
    help='Write the recording to FILE, readable only for you; "-" is standard output.',
)
@target_options
@quiet_option
def command(path: str, quiet: bool, **options: Any) -> int:
    """Record a live process into a file, which can be reported anywhere without privileges.

    A COMMAND keeps its standard output, unless the recording goes there.
    """
    if quiet:
        be_quiet()
    wanted, window = wanted_and_window(options)
    window = settings.with_budget(window, settings.load())
    made = session.run(wanted, window, path, command_stdout_fd=2 if path == "-" else 1)

    def check() -> None:
        if made.file and path == "-":
            made.file.check_stream(made.reason, made.recorder.cut_off())
        elif made.file:
            size = made.file.check(made.recorder.cut_off(), recorder_ended=made.recorder_ended)
            tell(f"perfdiag: {size:,} bytes; to read them: perfdiag report {typed_path(path)}")

    return made.conclude(check)
