"""Remedies in the report: below the problem, numbered as the findings, never cut."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest
from perfdiag.diagnosis.rule import Remedy, RemedyKind
from perfdiag.render.layout import MOST_LINES
from perfdiag.report import assembly as report

from unit.support import Builder
from unit.support.reports import CASES, RUNBOOKS, diagnosis, finding
from unit.support.shown import folded, plain


def test_remedies_are_numbered_as_the_findings() -> None:
    made = CASES["causes"]()
    text = plain(made)
    for number, each in enumerate(made.findings[:2], 1):  # the third is no fault
        assert re.search(rf"^(FIX  )? +{number}  {re.escape(each.remedy[0].text)}", text, re.MULTILINE)
        assert re.search(rf"^{number} {each.id} ", text, re.MULTILINE)
        assert re.search(rf" {next(iter(each.accounts))} +-> {number}$", text, re.MULTILINE)


def test_a_short_second_remedy_stands_below_the_first_and_nowhere_else() -> None:
    made = CASES["flush"]()
    second = made.findings[0].remedy[1].text
    above, found, below = plain(made).partition("BUSY TIME")
    assert f" or {second}\n" in above and found and second not in below
    assert f" or {second}" not in plain(made, full=True).partition("BUSY TIME")[0], "all stand with their finding"
    long = msgspec.structs.replace(made.findings[0].remedy[1], text="wait and see " * 14)
    remedy = [made.findings[0].remedy[0], long]
    findings = [msgspec.structs.replace(made.findings[0], remedy=remedy), *made.findings[1:]]
    assert " or wait" not in plain(msgspec.structs.replace(made, findings=findings)).partition("BUSY TIME")[0]


def test_the_same_remedy_of_two_findings_is_printed_once() -> None:
    model = Builder().thread("a", disk_read="4 s", net_send="3 s").model()
    findings = [finding(f"F-{account}", {account: 3_000_000_000}) for account in ("disk.read", "net.send")]
    alike = [replace(each, remedies=[Remedy(RemedyKind.FIX, "buy a faster host")]) for each in findings]
    text = plain(report.make(model, diagnosis(model, *alike), RUNBOOKS))
    assert text.count("buy a faster host") == 1 and "FIX      1, 2  buy a faster host" in text


def test_a_trial_is_never_shown_without_its_undo_nor_cut() -> None:
    model = Builder().thread("a", disk_read="4 s", net_send="3 s").model()
    for words in (10, 40, 60, 100):
        findings = [
            finding(f"F-{account}", {account: 3_000_000_000}, "c " * 200, evidence=["e " * 90] * 9)
            for account in ("disk.read", "net.send")
        ]
        trial = Remedy(RemedyKind.TRY, "tune " * words, "untune " * words, "now")
        made = report.make(model, diagnosis(model, *(replace(f, remedies=[trial]) for f in findings)), RUNBOOKS)
        text = plain(made)
        assert len(text.splitlines()) <= MOST_LINES
        tried = text.count(" tune") / words
        assert tried == text.count(" undo: ") == text.count("untune") / words == text.count("(now: now)")
        assert tried >= (words < 100), "where it fits"


@pytest.mark.parametrize("functions", [0, 1, 4])
def test_the_first_remedy_stands_however_much_there_is_to_say(functions: int) -> None:
    made = CASES["proxy"]()
    words = "answer from a cache what was asked for before, and ask for the rest while the first is under way " * 3
    first = made.findings[0]
    sampled = [msgspec.structs.replace(first.evidence[0], text="f " * 70, probe="stack samples")] * functions
    remedy = [msgspec.structs.replace(first.remedy[0], text=words.strip())]
    first = msgspec.structs.replace(first, claim="c " * 120, evidence=[*sampled, *first.evidence], remedy=remedy)
    text = plain(msgspec.structs.replace(made, findings=[first, *made.findings[1:]]))
    assert len(text.splitlines()) <= MOST_LINES
    assert words.strip() in folded(text)


def test_the_remedy_of_a_known_fault_stands_once_where_the_cause_is_unknown() -> None:
    made = report.make(
        model := Builder().thread("a", disk_read="4 s").model(),
        diagnosis(model, finding("F-DISK", {"disk.read": 3_000_000_000})),
        RUNBOOKS,
    )
    said = [f"Known: {made.findings[0].headline}."]
    verdict = msgspec.structs.replace(made.verdict, status="cannot tell", sentences=said, text=said[0])
    text = plain(msgspec.structs.replace(made, verdict=verdict))
    assert "CANNOT TELL" in text and text.count(made.findings[0].remedy[0].text) == 1
