"""perfdiag help: the same as --help of a command."""

import click


@click.command("help")
@click.argument("name", metavar="[COMMAND]", required=False)
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
