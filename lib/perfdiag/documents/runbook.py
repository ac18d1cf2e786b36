"""perfdiag-runbook(7): from the symptom to the command, to the findings it may give, and what to do about each."""

from collections.abc import Mapping

from perfdiag.diagnosis.rule import Rule
from perfdiag.documents.mdoc import page, prose
from perfdiag.documents.symptoms import SYMPTOMS, Symptom

DESCRIPTION = (
    "Find the symptom, run the command as root, and read PROBLEM and FIX of its report. Replace pids, units and ports"
    " with your own; perfdiag host shows which process to look at. The ids below a symptom are the findings that the"
    " report may have, each with its meaning and the first thing to do. The command perfdiag explain ID and"
    " perfdiag-findings(7) tell more."
)


def runbook_page(rules: Mapping[str, Rule]) -> str:
    """Return perfdiag-runbook(7)."""
    body = [".Sh DESCRIPTION", *prose(DESCRIPTION), ".Sh SYMPTOMS"]
    for symptom in SYMPTOMS:
        body += _symptom(symptom, rules)
    return page(
        "perfdiag-runbook",
        "from a symptom to the command, the findings and what to do",
        body,
        [
            ("perfdiag-findings", 7),
            ("perfdiag", 8),
            ("perfdiag-check", 8),
            ("perfdiag-explain", 8),
            ("perfdiag-host", 8),
            ("perfdiag-latency", 8),
        ],
    )


def _symptom(symptom: Symptom, rules: Mapping[str, Rule]) -> list[str]:
    lines = [f".Ss {symptom.title}", *prose(symptom.seen_as), ".Bd -literal -offset indent"]
    lines += [command.replace("-", "\\-") for command in symptom.commands]
    lines += [".Ed"]
    if symptom.then:
        lines += [".Pp", *prose(symptom.then)]
    if symptom.findings:
        lines += [".Bl -tag -width Ds", *(line for id in symptom.findings for line in _finding(rules[id])), ".El"]
    return lines


def _finding(rule: Rule) -> list[str]:
    return [f".It Sy {rule.id}", *prose(f"{rule.title}."), ".Sy \\&Do :", *prose(rule.remedies)]
