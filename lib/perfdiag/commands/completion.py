"""perfdiag completion: the completion script of a shell."""

import os

import click
from click.shell_completion import get_completion_class

from perfdiag.common.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_PERFDIAG_COMPLETE"  # the completion scripts set it, and no one else


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL: bash, zsh or fish.

    For this session: source <(perfdiag completion bash).  For good: into /etc/bash_completion.d/perfdiag.
    """
    kind = get_completion_class(shell)
    assert kind is not None, "SHELLS are those that click knows"
    click.echo(kind(ctx.find_root().command, {}, "perfdiag", VARIABLE).source().rstrip("\n"))


def refuse_others() -> None:
    """Raise UsageError where the variable of the completion scripts is set, and not by one of them."""
    shell, _, what = os.environ.get(VARIABLE, "").partition("_")
    words = "COMP_WORDS" in os.environ and (shell == "fish" or os.environ.get("COMP_CWORD", "").isdecimal())
    ours = shell in SHELLS and (what == "source" or (what == "complete" and words))
    if os.environ.get(VARIABLE) and not ours:
        raise UsageError(f"{VARIABLE} is set, but not by a completion script", f"unset {VARIABLE}")
