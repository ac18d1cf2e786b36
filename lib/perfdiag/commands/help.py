"""perfdiag help: the same as --help of a command."""

import click
from click.shell_completion import CompletionItem


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    commands = ctx.find_root().command
    assert isinstance(commands, click.Group), "it is a command of a group"
    return [CompletionItem(name) for name in commands.list_commands(ctx) if name.startswith(incomplete)]


@click.command("help", short_help="Print what a command does, and its options.")
@click.argument("name", metavar="[COMMAND]", required=False, shell_complete=_complete)
@click.pass_context
def command(ctx: click.Context, name: str | None) -> None:
    """Print what COMMAND does and its options, like COMMAND --help; without COMMAND, list the commands."""
    parent = ctx.parent
    assert parent is not None and isinstance(parent.command, click.Group), "it is a command of a group"
    if name is None:
        click.echo(parent.get_help())
        return
    found_name, found, _rest = parent.command.resolve_command(parent, [name])
    assert found is not None, "resolve_command raises for what does not exist"
    with click.Context(found, info_name=found_name, parent=parent) as own:
        click.echo(found.get_help(own))
