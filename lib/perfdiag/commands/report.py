"""perfdiag report: the report of a recording, without privileges."""

from __future__ import annotations

import os
import pwd
import sys

import click

from perfdiag import config, privileges
from perfdiag.commands import reporting
from perfdiag.commands.options import report_options
from perfdiag.errors import PerfdiagError
from perfdiag.text import printable


@click.command("report")
@click.argument("path", metavar="FILE")
@report_options
def command(path: str, as_json: bool, full: bool, exit_code: bool) -> int:
    """Report what a recording says, made here or on another machine; "-" reads standard input.

    Needs no privileges, and gives them up before the first byte is read.
    """
    settings = config.load()
    try:
        stream = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise PerfdiagError(f"cannot read {printable(path)}: {error.strerror}", _hint(path, error)) from error
    with stream:
        privileges.drop()
        return reporting.show(stream, settings, "", as_json=as_json, full=full, exit_code=exit_code)


def _hint(path: str, error: OSError) -> str:
    """Return what to do about a recording that cannot be opened: recordings are readable for their owner only."""
    if not isinstance(error, PermissionError):
        return "perfdiag record -o FILE makes a recording"
    try:
        owner = os.stat(path).st_uid
    except OSError:
        return f"a directory above it is closed to {_user(os.geteuid())}: ask its owner for a copy"
    return f"it belongs to {_user(owner)}: report it as that user, or ask for a copy"


def _user(number: int) -> str:
    try:
        return printable(pwd.getpwuid(number).pw_name)
    except KeyError:
        return f"user {number}"


__all__ = ["command"]
