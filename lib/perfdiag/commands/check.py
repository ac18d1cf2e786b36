"""perfdiag check: what can be measured on this host, what cannot, why, and the remedy."""

import errno
import os
import textwrap
from collections.abc import Sequence

import click
import msgspec

from perfdiag.capture import preflight, target
from perfdiag.capture.preflight import Answer
from perfdiag.capture.recorder import NOT_PERMITTED, Recorder
from perfdiag.common import privileges
from perfdiag.common.errors import PerfdiagError
from perfdiag.common.text import printable
from perfdiag.recording import schema

WIDTH = 80
TIMEOUT_S = 60.0


@click.command("check", short_help="Show what can be measured on this host.")
def command() -> None:
    """Show what can be measured on this host, what cannot, why, and the remedy.

    It loads and attaches every program for a moment, as a recording would, and measures nothing.
    """
    recorder = Recorder.inherited()
    status = recorder.wait_exit(TIMEOUT_S)
    name = os.uname()
    facts = preflight.host()
    privileges.drop()
    click.echo(f"{printable(name.nodename)}, Linux {printable(name.release)}, {printable(name.machine)}")
    _print("FACTS OF THE HOST", facts)
    target.check_namespaces()
    if status:
        raise recorder.failure(errno.EPERM if status == NOT_PERMITTED else errno.EIO, "no program could be attached")
    with recorder.recording() as stream:
        line = stream.readline()
    try:
        programs = preflight.programs(msgspec.json.decode(line, type=schema.Header))
    except msgspec.DecodeError as error:
        raise PerfdiagError(
            f"the recorder's answer cannot be read: {printable(str(error))}",
            "check that the versions match: perfdiag --version and perfdiag-recorder --version",
        ) from error
    _print("TIME, MEASURED BY PROGRAMS IN THE KERNEL", programs)
    missing = sum(answer.reason is not None for answer in [*facts, *programs])
    click.echo(f"\n{len(facts) + len(programs) - missing} can be measured here, {missing} cannot.")


def _print(title: str, answers: Sequence[Answer]) -> None:
    """Print what can be measured, then what cannot, with why and what would help."""
    click.echo(f"\n{title}")
    for answer in sorted(answers, key=lambda answer: answer.reason is not None):
        _line("yes  " if answer.reason is None else "no   ", printable(answer.tells))
        if answer.reason is not None:
            _line("       why   ", printable(answer.reason))
            _line("       fix   ", printable(answer.fix))


def _line(label: str, text: str) -> None:
    indent = " " * (2 + len(label))
    click.echo(textwrap.fill(text, WIDTH, initial_indent=f"  {label}", subsequent_indent=indent))
