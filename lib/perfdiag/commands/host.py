"""perfdiag host: measure the machine instead of a process; for the past, explain its OOM kills."""

from typing import IO

import click

from perfdiag.capture.kernel_log import read_kernel_log
from perfdiag.capture.recorder import Window
from perfdiag.capture.target import Wanted
from perfdiag.commands import candidates, input_files, live, reporting
from perfdiag.commands.options import (
    DEFAULT_DURATION_NS,
    Duration,
    Presentation,
    apps_option,
    recording_option,
    report_options,
    request_names_option,
)
from perfdiag.commands.times_of_day import FORMS, TimeOfDay
from perfdiag.common import cycles, privileges
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.common.text import printable
from perfdiag.facts import oom_counters, oom_log
from perfdiag.facts.kernel_log_clock import Clocks
from perfdiag.render import json_document, terminal
from perfdiag.render import past_oom_kills as rendered
from perfdiag.report.contract.past_oom_kills import PastKills
from perfdiag.report.past_oom_kills import look_back

PATIENCE_S = 30.0  # with a pipe; a journal that is searched from disk may need some
DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")


@click.command("host", short_help="Record all tasks of a host, or explain its past OOM kills.")
@click.option(
    "-d",
    "--duration",
    type=Duration("s"),
    metavar="TIME",
    help="How long: seconds, or 500ms, 5m; 0 until Ctrl-C.  [default: 10]",
)
@click.option("--stacks", is_flag=True, help="Keep a stack of every wait, not only of a sample; --full prints them.")
@request_names_option
@apps_option
@recording_option
@click.option("--since", type=TimeOfDay(), metavar="TIME", help="Explain OOM kills since this time, such as 02:00.")
@click.option("--until", type=TimeOfDay(), metavar="TIME", help="Explain them until this time.  [default: now]")
@click.option(
    "--log",
    metavar="FILE",
    help="Read a saved kernel log instead of this host's; - is standard input.",
    shell_complete=candidates.files,
)
@report_options
def command(
    duration: int | None,
    stacks: bool,
    no_request_names: bool,
    no_apps: bool,
    path: str | None,
    since: int | None,
    until: int | None,
    log: str | None,
    presentation: Presentation,
) -> int:
    """Record all tasks of this host, also kernel threads, and report the largest consumers of every account.

    Threads that sleep all the time are left out, and counted. With --since it explains past OOM kills from the kernel
    log and the counters of control groups: the process that asked for memory, what the memory was used for, and why the
    victim was chosen.
    """
    if since is None:
        if until is not None or log is not None:
            raise UsageError("--since is missing", "perfdiag host --since 02:00, or --since 1d")
        window = Window(
            DEFAULT_DURATION_NS if duration is None else duration,
            stacks=stacks,
            request_names=not no_request_names,
            apps=not no_apps,
            host=True,
        )
        return live.measure(Wanted(), window, path, presentation)
    if duration is not None or stacks or no_request_names or no_apps or path is not None:
        raise UsageError("--since looks back and cannot record", "leave out --since to record")
    clocks = Clocks.now()
    until = clocks.realtime_ns if until is None else until
    if since > clocks.realtime_ns:
        raise UsageError("--since is in the future", f"give a time in the past {FORMS}")
    if until < since:
        raise UsageError("--until is before --since", "exchange them")
    with reporting.destination(presentation) as destination, cycles.not_searched():
        found = _look_back(since, until, log, clocks)
        full = presentation.full
        destination.put(
            json_document.render(found)
            if presentation.as_json
            else lambda output: terminal.draw(rendered.lines(found, terminal.width(output), full=full), output),
            pager=full,
        )
    return reporting.FINDINGS_STATUS if presentation.exit_code and found.kills else 0


def _look_back(since_ns: int, until_ns: int, path: str | None, clocks: Clocks) -> PastKills:
    """Read what needs root, give root up, and only then parse what was read."""
    if path is None:
        records, overwritten = read_kernel_log()
        counts = oom_counters.read()
        privileges.drop()
        log = oom_log.own_log(records, overwritten, clocks)
        return look_back(log, counts, clocks, since_ns, until_ns)
    # First: what a user may read decides, and to open a file can be an act (a device, a pipe).
    privileges.become_caller()
    privileges.drop()
    name = "standard input" if path == "-" else path
    try:
        with _opened(path) as stream:
            log = oom_log.saved_log(stream, name, clocks)
    except OSError as error:
        raise PerfdiagError(f"cannot read {printable(name)}: {error.strerror}", _hint(path, error)) from error
    if log.first is None:
        raise PerfdiagError(f"{log.source} has no line of a kernel log", "save one with journalctl -k > FILE")
    return look_back(log, None, clocks, since_ns, until_ns)


def _opened(path: str) -> IO[bytes]:
    """Open a file. Raises OSError; PerfdiagError for a pipe without a writer, and for closed standard input."""

    def silent() -> None:
        reason = f"no data for {PATIENCE_S:g} s"
        raise PerfdiagError(f"cannot read {printable(path)}: {reason}", "save a log with journalctl -k > FILE")

    if path == "-":
        return input_files.standard_input("give it a log: perfdiag host --since TIME --log - < FILE")
    return input_files.opened(path, PATIENCE_S, silent)


def _hint(path: str, error: OSError) -> str:
    """Return the hint for a log that cannot be read."""
    if not isinstance(error, PermissionError):
        return "save a log with journalctl -k > FILE, and give that file"
    if path.startswith(DESCRIPTORS):  # of root, who has no rights any more: <(COMMAND) of a shell is one
        return "pass it on standard input: COMMAND | perfdiag host --since TIME --log -"
    return "run it without sudo, as a user who may read the file; or as root: perfdiag host --since TIME --log - < FILE"
