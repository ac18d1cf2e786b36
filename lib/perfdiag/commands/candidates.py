"""Completion of values: files, and the processes, units and containers that run on this host."""

import re
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from perfdiag.common.text import printable

MOST = 200  # more than anybody looks through
# bash puts candidates into the command line as they are, and who names a process, unit or container chooses what that
# is: one with a sign that a shell may obey, or that would be an option, is left out.
_PLAIN = re.compile(r"[\w@%+=:,./][\w@%+=:,./-]*")


def pids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the pids that begin with a text, and those of processes whose name does, with the name."""
    from perfdiag.capture import processes  # imported when it is asked for: completion must not wait for the others

    found = [
        CompletionItem(str(process.pid), help=printable(process.name))
        for process in processes.everyone()
        if not process.kernel_thread
        and (str(process.pid).startswith(incomplete) or process.comm.startswith(incomplete))
    ]
    return found[:MOST]


def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of processes that begin with a text."""
    from perfdiag.capture import processes

    found = {process.comm for process in processes.everyone() if not process.kernel_thread}
    return _words(found, incomplete)


def units(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the running systemd units that begin with a text."""
    from perfdiag.capture import cgroups

    return _words(cgroups.units(), incomplete)


def containers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of running containers that begin with a text, from their engines."""
    from perfdiag.capture import cgroups, container_engines

    return _words({*container_engines.names(), *cgroups.container_names()}, incomplete)


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what makes the shell list files itself."""
    return [CompletionItem(incomplete, type="file")]


def _words(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    found = sorted(name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))
    return [CompletionItem(name) for name in found[:MOST]]
