"""What `perfdiag explain` says: the documentation of a finding, an account or the thresholds, at 80 columns."""

import difflib
import textwrap

from perfdiag.common.config import Config
from perfdiag.common.errors import UsageError
from perfdiag.common.text import printable
from perfdiag.diagnosis import policy
from perfdiag.diagnosis.policy.threshold import Threshold
from perfdiag.diagnosis.rule import Rule, named
from perfdiag.diagnosis.rules import RULES  # importing anything of the package registers all rules
from perfdiag.documents.families import FAMILIES, family_of
from perfdiag.documents.manual import CLASSES
from perfdiag.recording.accounts import ACCOUNTS, BY_NAME, Account, Kind
from perfdiag.report.thresholds import shown

WIDTH = 79
_COUNTS = {
    Kind.LATENCY: "It is part of the busy time, which shares are of.",
    Kind.IDLE: "It is idle: shown apart, and part of no share; the verdict says what the target did.",
    Kind.UNKNOWN: "It is unknown whether it is blocked or idle: left out of percentages, with a line of its own.",
}
_OF_REQUESTS = "It is part of the requests' time, which shares are of if it is known. No thread spends it."
_TELLS = (
    "The stacks of its waits: the report with --full shows those that were sampled, a recording made with --stacks"
    " has all of them; by hand: py-spy dump --pid PID, jstack PID, or gdb -p PID -batch -ex 'thread apply all bt'."
)
# So many ids are offered for one that does not exist, and only those at least this similar to it.
OFFERED, SIMILAR = 3, 0.5


def find(finding_id: str) -> Rule:
    """Return the rule with this id, whatever its case.

    Raises UsageError with the closest ids for one that does not exist.
    """
    wanted = finding_id.strip().upper()
    if rule := named(wanted):
        return rule
    # "FLUSH" resembles DISK-FLUSH-SLOW less than other short ids do: what holds the word comes first.
    known = [*RULES, *(name for rule in RULES.values() for name in rule.names.values())]
    close = sorted((id for id in known if wanted and wanted in id), key=lambda id: (not id.startswith(wanted), id))
    close += [id for id in difflib.get_close_matches(wanted, known, OFFERED, SIMILAR) if id not in close]
    close += [name for name in difflib.get_close_matches(wanted.lower(), BY_NAME, OFFERED, SIMILAR) if not close]
    everything = "perfdiag-findings(7) and perfdiag-accounts(7) list all of them"
    hint = f"did you mean {' or '.join(close[:OFFERED])}?" if close else everything
    raise UsageError(f"no finding or account is called {printable(finding_id)!r}", hint)


def text(name: str, config: Config) -> str:
    """Return the explanation of a finding or an account, ending in a newline.

    Raises UsageError for a name that is neither.
    """
    account = BY_NAME.get(name.strip().lower())
    if account and not named(name.strip().upper()):
        return _account(account)
    rule = find(name)
    parts = [
        f"{rule.id}\n{rule.title}",
        _section("Meaning", f"{rule.meaning} {rule.also_called}".rstrip()),
        _section("What to do", rule.remedies),
        _section("How to verify", rule.verify),
        _section("What else it could be", rule.alternatives),
        _section("How it is measured", rule.how_measured),
        _accounts(rule),
        _relatives(rule),
    ]
    runbook = config.runbook(rule.id)
    parts.append(f"Runbook\n  {runbook}" if runbook else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def everything() -> str:
    """Return the ids of all findings by family, then the names of all accounts by class, each with its title."""
    sections = []
    for family, title in FAMILIES.items():
        found = sorted(rule.id for rule in RULES.values() if family_of(rule) == family)
        sections.append("\n".join([f"Findings: {title}", *(_shortened(f"  {id:24}{RULES[id].title}") for id in found)]))
    for name, title in CLASSES.items():
        lines = [f"  {each.name:24}{each.meaning}" for each in ACCOUNTS if each.name.split(".")[0] == name]
        sections += ["\n".join([f"Accounts: {title}", *map(_shortened, lines)])] * bool(lines)
    return "\n\n".join(sections) + "\n"


def thresholds() -> str:
    """Return every threshold by family with its default, the reason for it, and how to set it."""
    sections = ["Set one in the configuration below [thresholds], as in disk.timeout_ns = 500_000_000."]
    for family in policy.FAMILIES:
        lines = [_threshold(family.name, each) for each in family.thresholds()]
        sections.append("\n".join([f"Thresholds: {family.title}", *lines]))
    return "\n\n".join(sections) + "\n"


def _threshold(family: str, threshold: Threshold[int] | Threshold[float]) -> str:
    value = shown(threshold.value, threshold.unit)
    return f"  {family}.{threshold.name}: {value}\n" + textwrap.fill(
        threshold.reason, WIDTH, initial_indent="      ", subsequent_indent="      ", break_on_hyphens=False
    )


def _account(account: Account) -> str:
    """Return what an account means, how it counts, what its rows name, and which findings can name its time."""
    naming = sorted(rule.id for rule in RULES.values() if account.name in rule.accounts)
    lines = [f"  {id:24}{RULES[id].title}" for id in naming]
    parts = [
        textwrap.fill(f"{account.meaning[0].upper()}{account.meaning[1:]}", WIDTH),
        _section("How it counts", _OF_REQUESTS if account.of_requests else _COUNTS[account.kind]),
        _section("What its rows name", f"{account.object[0].upper()}{account.object[1:]}") if account.object else "",
        _section("What tells", _TELLS) if account.kind is Kind.UNKNOWN else "",
        "\n".join(["Findings that can name its time", *map(_shortened, lines)]) if lines else "",
    ]
    return f"{account.name}\n" + "\n\n".join(part for part in parts if part) + "\n"


def _section(title: str, body: str) -> str:
    # Commands and paths hold hyphens and slashes: they are copied, so they are never broken.
    return (
        title
        + "\n"
        + textwrap.fill(
            body, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )
    )


def _accounts(rule: Rule) -> str:
    lines = [f"  {name:24}{BY_NAME[name].meaning}" for name in rule.accounts if name in BY_NAME]
    return "\n".join(["Accounts whose time it can name", *map(_shortened, lines)]) if lines else ""


def _shortened(line: str) -> str:
    return textwrap.fill(
        line, WIDTH, subsequent_indent=" " * 26, break_on_hyphens=False, drop_whitespace=True, replace_whitespace=False
    )


def _relatives(rule: Rule) -> str:
    finer = sorted(other.id for other in RULES.values() if rule.id in other.beats)
    sentences = []
    if rule.beats:
        sentences.append(f"It takes its time before {', '.join(sorted(rule.beats))}.")
    if finer:
        sentences.append(f"Before it take their time: {', '.join(finer)}.")
    return _section("Beside other findings", " ".join(sentences)) if sentences else ""
