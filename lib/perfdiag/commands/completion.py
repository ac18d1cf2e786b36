"""perfdiag completion: the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL: bash, zsh or fish.

    For this session: source <(perfdiag completion bash).  For good: into /etc/bash_completion.d/perfdiag.
    """
    kind = get_completion_class(shell)
    assert kind is not None, "SHELLS are those that click knows"
    click.echo(kind(ctx.find_root().command, {}, "perfdiag", "_PERFDIAG_COMPLETE").source().rstrip("\n"))


__all__ = ["command"]
