"""Options that several commands share, and the types of their values."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from perfdiag.capture.progress import be_quiet
from perfdiag.capture.recorder import Window
from perfdiag.capture.target import Wanted
from perfdiag.commands import candidates
from perfdiag.common.config import parts_per_million
from perfdiag.common.errors import UsageError
from perfdiag.common.text import printable
from perfdiag.model.waits.receiving_calls import CALL
from perfdiag.recording.schema import OWN_ENGINE

F = TypeVar("F", bound=Callable[..., Any])

UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
LONGEST_NS = 366 * 86400 * 10**9
# What --app calls applications, and a report.
APPLICATIONS = {"java": "hotspot", "mariadb": "mariadb", "mysql": "mysql", "postgresql": "postgresql"}
LONGEST_NAME = 1000  # of an SQL statement, of which 1,024 bytes are looked at; of a request 64
SCRIPTS = ("bcc", "bpftrace", "dtrace")  # engines that run one, as in lib/recorder/script/engine.c
MOST_OBJECTIVES = 32  # as the recorder has room for
DEFAULT_DURATION_NS = 10 * 10**9


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.4 on
    """A time with its unit ("250ms", "5m"), in nanoseconds; a number alone is in `unit`, if there is one."""

    name = "duration"

    def __init__(self, unit: str | None) -> None:
        self.unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?|\.[0-9]{1,9}) ?([a-z]*)", value)
        unit = (match[2] or self.unit) if match else None
        if match is None or unit not in UNITS_NS:
            time = "not a time" if self.unit else "not a time with its unit"
            self.fail(f"{printable(value)!r} is {time} such as 250ms, 30s or 5m", param, ctx)
        duration_ns = round(float(match[1]) * UNITS_NS[unit])
        if not duration_ns and float(match[1]):
            self.fail(f"{printable(value)!r} is less than a nanosecond", param, ctx)
        if duration_ns > LONGEST_NS:
            self.fail(f"{printable(value)!r} is more than a year", param, ctx)
        return duration_ns


class Objective(Duration):
    """A limit for --slo: a time, or one for a name ("GET /upload=500ms", "COMMIT=20ms"). Returns the name (None: all
    others) and nanoseconds."""

    name = "objective"

    def __init__(self) -> None:
        super().__init__(None)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, equals, time = value.rpartition("=")
        limit_ns = super().convert(time.strip(), param, ctx)
        if equals and not name.strip():
            self.fail(f"{printable(value)!r} has no name before the =", param, ctx)
        if not name.isprintable() or len(name) > LONGEST_NAME:
            self.fail(
                f"{printable(name)!r} is not a name of requests such as 'GET /upload', or an SQL statement", param, ctx
            )
        if not limit_ns:
            self.fail(f"{printable(value)!r}: everything takes longer than that", param, ctx)
        return name.strip() or None, limit_ns


class Percent(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.4 on
    """A percentage such as 2% or 0.5, in parts per million."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parts_per_million(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Decimal(click.IntRange):
    """A decimal integer: int() would also take "1_0", "+5" and the digits of other scripts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and not re.fullmatch(r"-?[0-9]+", value):
            self.fail(f"{printable(value)!r} is not a valid integer", param, ctx)
        return super().convert(value, param, ctx)


class TargetCommand(click.Command):
    """A command whose argument may be a command to be measured, which must follow "--"."""

    allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        separated = "--" in args
        rest = super().parse_args(ctx, args)
        arguments = ctx.params.get("arguments", ())
        if arguments and not separated:
            first = printable(arguments[0])
            hint = f"--pid {first} measures that process" if first.isdecimal() else f"to measure a command: -- {first}"
            raise UsageError(f"{first!r} is not an option", hint)
        return rest


request_names_option = click.option(
    "--no-request-names",
    is_flag=True,
    help="Do not keep names of requests, because a path can contain a secret: distinguish requests by port; keep no"
    " SQL statements that the target sends, either.",
)


apps_option = click.option(
    "--no-apps",
    is_flag=True,
    help="Do not recognise what program it is: read no counters of Java virtual machines, no waits of PostgreSQL, no"
    " SQL statements, no functions of scripts, no methods of Java.",
)


_TARGET_OPTIONS = (
    click.option(
        "-p",
        "--pid",
        type=Decimal(min=1),
        multiple=True,
        metavar="PID",
        help="Measure this process; repeatable. A pid inside a container works too.",
        shell_complete=candidates.pids,
    ),
    click.option(
        "--name",
        metavar="REGEX",
        help="Measure the program with a matching process name.",
        shell_complete=candidates.names,
    ),
    click.option("--port", type=Decimal(1, 65535), metavar="N", help="Measure the process that listens on this port."),
    click.option("--unit", metavar="NAME", help="Measure this systemd unit.", shell_complete=candidates.units),
    click.option(
        "--container", metavar="ID|NAME", help="Measure this container.", shell_complete=candidates.containers
    ),
    click.option("--cgroup", metavar="PATH", help="Measure this control group."),
    click.option(
        "--only",
        is_flag=True,
        help="Leave out descendants, which are included by default, and do not look at what processes do that the"
        " target waits for.",
    ),
    click.option(
        "-d",
        "--duration",
        type=Duration("s"),
        metavar="TIME",
        help="How long: seconds, or 500ms, 5m; 0 until Ctrl-C.  [default: 10; with a COMMAND: 0]",
    ),
    click.option(
        "--slo",
        type=Objective(),
        multiple=True,
        metavar="[NAME=]TIME",
        help='Time requests, and system calls as operations, against this limit, such as 250ms. Repeatable: "GET'
        ' /upload=2s" is for requests of that name in the report, "COMMIT=20ms" for an SQL statement, a TIME alone for'
        " all others.",
    ),
    request_names_option,
    apps_option,
    click.option(
        "--max-cost",
        type=Percent(),
        metavar="PERCENT",
        help="What measuring may take of the CPU time that the target uses, such as 2%. Beyond that, perfdiag gives up"
        " what it can, the dearest first, but never the accounts of time; the report says what.  [default: 33%]",
    ),
    click.option(
        "--stacks", is_flag=True, help="Keep a stack of every wait, not only of a sample; --full prints them."
    ),
    click.option(
        "--engine",
        type=click.Choice(["auto", OWN_ENGINE, *SCRIPTS]),
        metavar=f"auto|{OWN_ENGINE}|{'|'.join(SCRIPTS)}",
        default="auto",
        help="What records: perfdiag's own programs (libbpf), or a script for another engine, which records one"
        " process and sees less. auto takes libbpf, or, if the kernel cannot run that, the first engine that"
        " works, and says which and why.  [default: auto]",
    ),
    click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ...]"),
)


def target_options(function: F) -> F:
    """Add the selectors of the target and the shape of the window."""
    for option in reversed(_TARGET_OPTIONS):
        function = option(function)
    return function


quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Print no progress on standard error, only warnings and errors."
)


@dataclass(frozen=True)
class Presentation:
    """How a report is shown, and where it goes."""

    as_json: bool
    full: bool
    exit_code: bool
    path: str | None  # of a file; None: standard output
    color: str  # auto, always, never
    apps: tuple[str, ...] = ()  # applications that must have been read


recording_option = click.option(
    "--record", "path", metavar="FILE", help="Also keep the recording in FILE.", shell_complete=candidates.files
)
_OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=candidates.files,
    help='Write the report to FILE, readable only for you; "-" is standard output.',
)


_APP = click.option(
    "--app",
    type=click.Choice(sorted(APPLICATIONS)),
    metavar="|".join(sorted(APPLICATIONS)),
    multiple=True,
    help="Fail, behind the report, unless this application was recognised and read. Repeatable.",
)


def report_options(function: F) -> F:
    """Add the options of the report; the function gets a `presentation`."""

    @wraps(function)
    def presented(
        *arguments: Any,
        as_json: bool,
        full: bool,
        exit_code: bool,
        output: str | None,
        color: str,
        quiet: bool,
        app: tuple[str, ...],
        **rest: Any,
    ) -> Any:
        if quiet:
            be_quiet()
        if output == "":
            raise UsageError("the file for the report has no name", "is a variable of a script not set?")
        path = None if output == "-" else output
        return function(*arguments, presentation=Presentation(as_json, full, exit_code, path, color, app), **rest)

    options: Any = presented
    for decorator in reversed(
        (
            _OUTPUT,
            click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document."),
            _APP,
            click.option("--full", is_flag=True, help="Print everything, however long it gets."),
            click.option(
                "--exit-code",
                is_flag=True,
                help="Exit with 10 if a finding is a warning or worse, or the verdict names a cause.",
            ),
            click.option(
                "--color",
                type=click.Choice(["auto", "always", "never"]),
                metavar="auto|always|never",
                default="auto",
                help="Colour the report. auto: on a terminal unless NO_COLOR is set, and wherever FORCE_COLOR is"
                " set.  [default: auto]",
            ),
            quiet_option,
        )
    ):
        options = decorator(options)
    return options  # type: ignore[no-any-return]


def wanted_and_window(options: dict[str, Any]) -> tuple[Wanted, Window]:
    """Return what the options of `target_options` mean. Raises UsageError if they contradict each other."""
    script = options["engine"] in SCRIPTS
    wanted = Wanted(
        options["pid"],
        options["name"],
        options["port"],
        options["unit"],
        options["container"],
        options["cgroup"],
        options["arguments"],
        options["only"] or script,
    )
    wanted.check()
    slo_ns, slo_names = _objectives(options["slo"])
    duration_ns = options["duration"]
    if duration_ns is None:
        duration_ns = 0 if wanted.command else DEFAULT_DURATION_NS
    request_names = not options["no_request_names"]
    if not request_names and any(not name.startswith(CALL) for name in slo_names):
        hint = "a limit without a name is for all requests"
        raise UsageError("--slo has names of requests, but --no-request-names keeps none", hint)
    if script:
        _check_script(wanted, options)
    window = Window(
        duration_ns,
        wanted.only,
        options["stacks"],
        slo_ns,
        slo_names,
        request_names,
        asked=wanted.words,
        apps=not options["no_apps"],
        max_cost_ppm=options["max_cost"],
    )
    return wanted, window


def _check_script(wanted: Wanted, options: dict[str, Any]) -> None:
    """Raise UsageError for options that the script does not know."""
    engine = f"--engine {options['engine']}"
    if wanted.command:
        raise UsageError(f"{engine} records a running process, not a COMMAND", "start it, and give its --pid")
    for option in ("slo", "stacks", "no_request_names", "max_cost"):
        if options[option] not in (None, False, ()):
            raise UsageError(f"{engine} does not know --{option.replace('_', '-')}", "leave it out")


def _objectives(given: Sequence[tuple[str | None, int]]) -> tuple[int | None, dict[str, int]]:
    """Return the limit for all others, and those of names. The recorder itself refuses names that become one name ("GET
    /1" and "GET /2")."""
    limits = dict(given)
    twice = next((name for index, (name, _) in enumerate(given) if name in dict(given[:index])), "")
    if twice is None:
        raise UsageError(
            "--slo is given twice without a name", "the limit without a name is for all that have none of their own"
        )
    if twice:
        raise UsageError(f"--slo is given twice for {printable(twice)!r}", "give each name one limit")
    all_others_ns = limits.pop(None, None)
    if len(limits) > MOST_OBJECTIVES:
        hint = f"at most {MOST_OBJECTIVES} names can have a limit; one without a name is for all others"
        raise UsageError(f"--slo is given for {len(limits)} names", hint)
    return all_others_ns, {name: limit_ns for name, limit_ns in limits.items() if name}
