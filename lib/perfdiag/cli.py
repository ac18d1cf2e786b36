"""The command line: finds the command, prints what goes wrong, chooses the exit status.

Nothing else in perfdiag prints errors or ends the process.
"""

import difflib
import errno
import gc
import os
import re
import select
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

import click

from perfdiag import __version__
from perfdiag.capture.progress import say
from perfdiag.common import privileges
from perfdiag.common.errors import HINTS, INSTALL_AGAIN, MEMORY_HINT, PerfdiagError, UsageError
from perfdiag.common.text import printable

MESSAGE_LIMIT = 500
WRONG_USAGE = 2
COMPILED_FOR = r"\.cpython-31[1-4]-.*-gnu\.so$"  # what is installed with perfdiag is
# On standard error and as wrong usage: a script whose variable for the command is empty has asked for nothing.
FIRST_COMMANDS = (
    "perfdiag shows where a process's time goes, and what to do about it.",
    "",
    "  a slow process     sudo perfdiag latency --pid 4121",
    "  a slow machine     sudo perfdiag host",
    "  what it found      perfdiag explain LOCK-CONTENTION",
    "  from a symptom     man perfdiag-runbook",
    "",
    "All commands: perfdiag --help.  What can be measured on this host: sudo perfdiag check",
)
COMMANDS = ("latency", "host", "record", "report", "check", "explain", "help", "completion")  # the order of --help


class Commands(click.Group):
    """The commands by name; each is imported when it is asked for, so that the others cost no start-up time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = f"perfdiag.commands.{cmd_name}"
        if name not in sys.modules:
            gc.disable()  # it would look again and again at what stays anyhow: an eighth of the time to import it
            try:
                import_module(name)
            finally:
                gc.freeze()
                gc.enable()
        command: click.Command = sys.modules[name].command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        wanted = args[0]
        if self.get_command(ctx, wanted) is None and not ctx.resilient_parsing and not wanted.startswith("-"):
            close = difflib.get_close_matches(wanted.lower(), COMMANDS, 1)
            hint = f"did you mean perfdiag {close[0]}?" if close else "perfdiag --help lists the commands"
            raise UsageError(f"no command is called {printable(wanted, MESSAGE_LIMIT)!r}", hint)
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="perfdiag", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Show where a process's time went, and what to do about it.

    Exit status: 0 done; 2 wrong usage; 3 not permitted; 4 the target does not exist (any more); 1 any other failure; 10
    findings, with --exit-code.
    """
    if ctx.invoked_subcommand is None:
        say(*FIRST_COMMANDS)
        return WRONG_USAGE
    privileges.invoking_user()  # refused before anything is done for him, where nobody can tell who he is
    return 0


def main() -> int:
    """Run the command line and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    impatient = [fd for fd in (1, 2) if not os.get_blocking(fd)]  # as event loops leave their pipes to those they start
    for fd in impatient:
        os.set_blocking(fd, True)
    try:
        return _run()
    finally:
        for fd, stream in ((1, sys.stdout), (2, sys.stderr)):
            try:
                stream.flush()
            except OSError:  # or Python tries, fails and complains again
                os.dup2(os.open(os.devnull, os.O_WRONLY), fd)
        for fd in impatient:
            os.set_blocking(fd, False)


def _run() -> int:
    """Run the command line, print errors, return the exit status."""
    stdout, status = sys.stdout, 0
    explain: Callable[[str, str | None], None] = _explain
    try:
        if "_PERFDIAG_COMPLETE" in os.environ:
            import_module("perfdiag.commands.completion").refuse_others()
            explain = _say_nothing  # in the middle of what somebody types
        status = int(cli.main(prog_name="perfdiag", standalone_mode=False) or 0)
        sys.stdout.flush()
        return status
    except PerfdiagError as error:
        explain(str(error), error.hint)
        return error.exit_status
    except click.UsageError as error:
        message = printable(" ".join(error.format_message().split()), MESSAGE_LIMIT)
        explain(message, _usage_hint(error))
        return WRONG_USAGE
    except SystemExit:
        if sys.stdout is stdout:
            raise
        return _broken_pipe(0)  # click replaces it, and gives up, when a pipe is broken
    except (KeyboardInterrupt, click.Abort):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        return 130
    except BrokenPipeError:
        return _broken_pipe(status)
    except Exception as error:
        if os.environ.get("PERFDIAG_DEBUG") and not isinstance(error, MemoryError | SystemError | ImportError):
            raise
        _explain(*_unexpected(error))
        return 1


def _usage_hint(error: click.UsageError) -> str:
    """Return where to read how the command is used."""
    named = [word for word in sys.argv[1:2] if word in COMMANDS]  # an option without its value has no context
    if isinstance(error, click.NoSuchOption) and not named:
        return "options stand behind a command, as in perfdiag latency --pid 4121; perfdiag --help lists the commands"
    return f"{error.ctx.command_path if error.ctx else ' '.join(['perfdiag', *named])} --help"


def _unexpected(error: Exception) -> tuple[str, str]:
    """Return message and hint of an error that no part of perfdiag gave words to."""
    said = printable(str(error))
    match error:
        case MemoryError():
            return "memory is exhausted", MEMORY_HINT
        case SystemError():  # what Python makes of an allocation that failed where it did not look
            return f"Python ran out of memory, or into a bug of its own: {said}", MEMORY_HINT
        case ImportError():
            return f"cannot load a part of perfdiag: {said}", _import_hint(error)
        case AttributeError(obj=ModuleType()):  # mypy finds those that the source has: a file is missing or cut short
            return f"a part of perfdiag is missing or damaged: {said}", INSTALL_AGAIN
        case OSError() if error.strerror:
            where = f"{printable(str(error.filename))}: " if error.filename is not None else ""
            return f"{where}{error.strerror}", HINTS.get(error.errno or 0, "PERFDIAG_DEBUG=1 shows where")
    return (
        f"this is a bug in perfdiag: {type(error).__name__}: {said}",
        "PERFDIAG_DEBUG=1 shows where; please report it",
    )


def _import_hint(error: ImportError) -> str:
    """Return what helps where a module cannot be loaded."""
    suffix = EXTENSION_SUFFIXES[0]  # .cpython-313-x86_64-linux-gnu.so
    top, _, rest = (error.name or "").partition(".")
    if top in sys.stdlib_module_names:
        return "a part of Python is missing: install all of its standard library (apt install python3)"
    if top == "msgspec" and rest and not re.match(COMPILED_FOR, suffix):
        version = f"{sys.implementation.name} {sys.version.split()[0]}"
        return f"perfdiag needs CPython 3.11 to 3.14 with glibc, but this is {version}: install one of those"
    if isinstance(error, ModuleNotFoundError) or error.msg.startswith("cannot import name"):
        return INSTALL_AGAIN
    if "failed to map segment" in error.msg:
        return f"{MEMORY_HINT}; or, if its file system is mounted noexec, install perfdiag on another"
    return f"{MEMORY_HINT}; or install it again"


def _broken_pipe(status: int) -> int:
    """Return `status` if the reader of standard output has closed it: it has seen enough."""
    poll = select.poll()
    poll.register(1, 0)  # POLLERR: a pipe without a reader; POLLHUP: a socket
    if any(event & (select.POLLERR | select.POLLHUP) for _fd, event in poll.poll(0)):
        return status
    _explain(f"{os.strerror(errno.EPIPE)}, but not on standard output", "this is a bug: please report it")
    return 1


def _say_nothing(_message: str, _hint: str | None) -> None:
    pass


def _explain(message: str, hint: str | None) -> None:
    """Print one line that says what failed and, below it, what to do."""
    say(f"error: {message}", *([f"HINT: {hint}"] if hint else []))
