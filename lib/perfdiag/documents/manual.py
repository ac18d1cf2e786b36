"""Writes perfdiag-accounts(7), perfdiag-findings(7) and perfdiag-runbook(7) from accounts, rules and symptoms:
`python -m perfdiag.documents.manual DIR`.

What can be read from the code is generated, so that a page cannot say what the program does not do.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.diagnosis.rule import Rule
from perfdiag.diagnosis.rules import RULES  # importing anything of the package registers all rules
from perfdiag.documents.families import FAMILIES, family_of
from perfdiag.documents.mdoc import escaped, page, paragraphs, prose
from perfdiag.documents.runbook import runbook_page
from perfdiag.recording.accounts import ACCOUNTS, Account, Kind

CLASSES = {
    "cpu": "On a CPU",
    "vm": "Virtual CPUs",
    "runq": "Runnable without a CPU",
    "disk": "Block devices",
    "nfs": "NFS",
    "remote": "Remote and user-space file systems",
    "memory": "Memory",
    "lock": "Locks",
    "wait": "Waiting for work, and what looks the same",
    "net": "Network",
    "ipc": "Local processes",
    "runtime": "Language runtimes",
    "kernel": "Elsewhere in the kernel",
    "unexplained": "Unexplained",
    "request": "Requests",
}
FINDINGS_INTRODUCTION = (
    "A finding is a cause that perfdiag names, with the share of the target's busy time that it explains: the most that"
    " a remedy can save. Only one finding claims a nanosecond, the most specific one with enough evidence. Ids are"
    " stable: runbooks may link to them.",
    "A finding of severity info is a profile: nothing is abnormal, and it is below every fault. Confidence is lower"
    " than high if numbers are sampled or subtracted, if something was not measured, or if records were lost; the"
    " report says which. A rule whose input was not measured says so and finds nothing.",
    "A remedy is marked try (reversible at once, with its undo and the present value), fix (a change elsewhere) or"
    " risky (it says what can be lost, and is never first).",
    "For each finding, this page has its meaning, what to do, what the next report shows if the fix works (Verify), and"
    " how it is measured. The command perfdiag explain ID prints also what else it could be, the accounts whose time it"
    " can name, and the findings that take their time before it.",
)
ACCOUNTS_INTRODUCTION = (
    "Every nanosecond of every thread is in exactly one account, and the accounts of a thread add up to its wall time."
    " Shares are of busy time: of all accounts except the idle ones and those that may be idle.",
    "A row of an account may name an object: the device, peer, lock or process that was waited for.",
)


def findings_page(rules: Iterable[Rule]) -> str:
    """Return perfdiag-findings(7)."""
    body = [".Sh DESCRIPTION", *paragraphs(FINDINGS_INTRODUCTION)]
    by_family: dict[str, list[Rule]] = {family: [] for family in FAMILIES}
    for rule in sorted(rules, key=lambda rule: rule.id):
        by_family[family_of(rule)].append(rule)
    for family, members in by_family.items():
        body += [f".Sh {FAMILIES[family].upper()}", *(line for rule in members for line in _finding(rule))]
    return page(
        "perfdiag-findings",
        "causes that perfdiag can name",
        body,
        [
            ("perfdiag-accounts", 7),
            ("perfdiag-runbook", 7),
            ("perfdiag", 8),
            ("perfdiag-explain", 8),
            ("perfdiag-latency", 8),
        ],
    )


def _finding(rule: Rule) -> list[str]:
    """Return a finding as a heading and one paragraph; `perfdiag explain` prints what is left out here."""
    parts = (("Do", rule.remedies), ("Verify", rule.verify), ("Measured", rule.how_measured))
    lines = [line for label, text in parts for line in (f".Sy \\&{label} :", *prose(text))]
    return [f".Ss {escaped(rule.id)}", *prose(f"{rule.meaning} {rule.also_called}".rstrip()), *lines]


def accounts_page(accounts: Sequence[Account], rules: Iterable[Rule]) -> str:
    """Return perfdiag-accounts(7)."""
    rules = sorted(rules, key=lambda rule: rule.id)
    body = [".Sh DESCRIPTION", *paragraphs(ACCOUNTS_INTRODUCTION), ".Sh ACCOUNTS"]
    seen = groups_by_key((account.name.split(".")[0], account) for account in accounts)
    for name, members in seen.items():
        body += [f".Ss {CLASSES[name]}", ".Bl -tag -width Ds"]
        for account in members:
            body += _account(account, [rule.id for rule in rules if account.name in rule.accounts])
        body += [".El"]
    return page(
        "perfdiag-accounts",
        "where a thread's time can go",
        body,
        [("perfdiag-recording", 5), ("perfdiag-findings", 7), ("perfdiag", 8), ("perfdiag-latency", 8)],
    )


def _account(account: Account, findings: Sequence[str]) -> list[str]:
    sentences = [f"{account.meaning[0].upper()}{account.meaning[1:]}."]
    if account.kind is Kind.IDLE:
        sentences.append("Idle: shown, never counted.")
    if account.kind is Kind.UNKNOWN:
        sentences.append("Blocked or idle (unknown): left out of percentages.")
    if account.of_requests:
        sentences.append("Part of requests' time alone: no thread spends it.")
    if account.object:
        sentences.append(f"Object: {account.object}.")
    if findings:
        sentences.append(f"Findings: {', '.join(findings)}.")
    return [f".It Va {account.name}", *(line for sentence in sentences for line in prose(sentence))]


def write(directory: Path) -> list[Path]:
    """Write the pages and return their paths.

    Raises PerfdiagError where the directory cannot be written.
    """
    rules = RULES.values()
    pages = {
        "perfdiag-findings.7": findings_page(rules),
        "perfdiag-accounts.7": accounts_page(ACCOUNTS, rules),
        "perfdiag-runbook.7": runbook_page(RULES),
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, page in pages.items():
            (directory / name).write_text(page, encoding="ascii")
    except OSError as error:
        raise PerfdiagError(f"{directory}: cannot be written: {error.strerror}", "name another directory") from error
    return [directory / name for name in pages]


def main(arguments: Sequence[str]) -> None:
    """Write the pages into the one directory that is named.

    Raises UsageError for anything else.
    """
    if len(arguments) != 1 or arguments[0].startswith("-"):
        raise UsageError(
            "python -m perfdiag.documents.manual takes one directory", "python -m perfdiag.documents.manual build/man"
        )
    write(Path(arguments[0]))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except PerfdiagError as error:
        print(f"perfdiag.documents.manual: {error}\nhint: {error.hint}", file=sys.stderr)
        sys.exit(error.exit_status)
