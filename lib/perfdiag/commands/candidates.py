"""Completion of values: files, and the processes, units and containers that run on this host."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

MOST = 200  # more than anybody looks through


def pids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the pids that begin with a text, and those of processes whose name does, with the name."""
    from perfdiag.capture import processes  # imported when it is asked for: completion must not wait for the others

    found = [
        CompletionItem(str(process.pid), help=process.name)
        for process in processes.everyone()
        if not process.kernel_thread
        and (str(process.pid).startswith(incomplete) or process.comm.startswith(incomplete))
    ]
    return found[:MOST]


def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of processes that begin with a text."""
    from perfdiag.capture import processes

    found = {process.comm for process in processes.everyone() if not process.kernel_thread}
    return [CompletionItem(name) for name in sorted(found) if name.startswith(incomplete) and name.isprintable()][:MOST]


def units(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the running systemd units that begin with a text."""
    from perfdiag.capture import cgroups

    return [CompletionItem(name) for name in cgroups.units() if name.startswith(incomplete)][:MOST]


def containers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of running containers that begin with a text, from their engines."""
    from perfdiag.capture import cgroups, container_engines

    found = sorted({*container_engines.names(), *cgroups.container_names()})
    return [CompletionItem(name) for name in found if name.startswith(incomplete)][:MOST]


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what makes the shell list files itself."""
    return [CompletionItem(incomplete, type="file")]


__all__ = ["containers", "files", "names", "pids", "units"]
