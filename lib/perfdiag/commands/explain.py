"""perfdiag explain: what a finding or an account means, what to do, how it is measured."""

import click
from click.shell_completion import CompletionItem

from perfdiag.capture.progress import say
from perfdiag.commands import settings
from perfdiag.common.errors import UsageError
from perfdiag.documents import explanation
from perfdiag.recording.accounts import ACCOUNTS


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from perfdiag.diagnosis.rules import RULES  # here, because only completion needs it

    titles = {id: rule.title for id, rule in RULES.items()}
    titles |= {name: rule.title for rule in RULES.values() for name in rule.names.values()}
    findings = [CompletionItem(id, help=titles[id]) for id in sorted(titles) if id.startswith(incomplete.upper())]
    accounts = [CompletionItem(each.name, help=each.meaning) for each in ACCOUNTS if each.name.startswith(incomplete)]
    return findings + (accounts if incomplete else [])


@click.command("explain", short_help="Explain a finding or an account.")
@click.argument("finding_id", metavar="[FINDING-ID]", required=False, shell_complete=_complete)
@click.option("--thresholds", is_flag=True, help="List the thresholds that findings are judged by, with their reasons.")
def command(finding_id: str | None, thresholds: bool) -> None:
    """Explain a finding: its meaning, what to do, how to verify, what else it could be, how it is measured.

    The name of an account, such as "lock.futex", is explained, too. Without a name it lists all of both.
    """
    if thresholds and finding_id is not None:
        raise UsageError("--thresholds lists those of all findings: it takes no name", "perfdiag explain --thresholds")
    if thresholds:
        text = explanation.thresholds()
    elif finding_id is not None:
        config = settings.load()
        say(*(f"warning: {why}" for why in config.left_out))
        text = explanation.text(finding_id, config)
    else:
        text = explanation.everything()
    click.echo(text.rstrip("\n"))
