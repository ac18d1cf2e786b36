"""perfdiag explain: every rule has its text, unknown ids get the closest ones."""

from __future__ import annotations

import re

import pytest
from perfdiag.common.config import Config
from perfdiag.common.errors import UsageError
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.diagnosis.rules import RULES
from perfdiag.documents import explanation
from perfdiag.recording.accounts import ACCOUNTS, Account

from unit.support import Builder
from unit.support.reports import finding, made
from unit.support.shown import plain


@pytest.mark.parametrize("id", sorted(RULES))
def test_every_rule_says_all_there_is_to_say(id: str) -> None:
    text, rule = explanation.text(id, Config()), RULES[id]
    words = " ".join(text.split())
    for part in (rule.title, rule.meaning, rule.measured, rule.alternatives, rule.remedies, rule.verify):
        assert len(part) > 5 and " ".join(part.split()) in words
    assert max(map(len, text.splitlines())) <= explanation.WIDTH
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert text.isascii()


def test_what_helps_stands_before_how_it_is_measured() -> None:
    titles = [line for line in explanation.text("CPU-BOUND", Config()).splitlines()[2:] if line and line[0] != " "]
    assert titles[:5] == ["Meaning", "What to do", "How to verify", "What else it could be", "How it is measured"]


def test_everything_is_listed_once_by_family() -> None:
    lines = explanation.everything().splitlines()
    listed = [line.split()[0] for line in lines if re.match(r"  \S", line)]
    assert sorted(listed) == sorted([*RULES, *(account.name for account in ACCOUNTS)])
    assert max(map(len, lines)) <= explanation.WIDTH
    assert lines.index("Findings: disks") < [line.split()[:1] for line in lines].index(["DISK-FLUSH-SLOW"])


def test_the_case_does_not_matter_and_the_runbook_is_named() -> None:
    text = explanation.text("disk-flush-slow ", Config(runbook_url="https://wiki.example/{id}"))
    assert text.startswith("DISK-FLUSH-SLOW\n") and text.endswith("  https://wiki.example/DISK-FLUSH-SLOW\n")
    assert "Runbook" not in explanation.text("DISK-FLUSH-SLOW", Config())


def test_what_tells_parked_time_holds_with_and_without_all_stacks() -> None:
    text = " ".join(explanation.text("wait.parked", Config()).split())
    assert "shows those that were sampled, a recording made with --stacks has all" in text and "-batch" in text


def test_relatives_are_named_in_both_directions() -> None:
    finer, coarser = explanation.text("NET-RETRANSMITS", Config()), explanation.text("NET-PEER-SLOW", Config())
    assert "takes its time before" in finer and "NET-PEER-SLOW" in finer
    assert "Before it take their time" in coarser and "NET-RETRANSMITS" in coarser


@pytest.mark.parametrize(
    ("id", "offered"),
    [
        ("DISK-FLUSH-SLWO", "DISK-FLUSH-SLOW"),
        ("flush", "DISK-FLUSH-SLOW"),
        ("MEM", "MEM-CACHE-MISSES"),
        ("LOCK_CONTENTION", "LOCK-CONTENTION"),
    ],
)
def test_an_unknown_id_gets_the_closest(id: str, offered: str) -> None:
    with pytest.raises(UsageError) as caught:
        explanation.text(id, Config())
    assert caught.value.hint and offered in caught.value.hint.split(" or ")[0]
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("id", ["", "zzz", "\x1b[2J", "x" * 10_000])
def test_nonsense_gets_the_list_and_is_shown_harmless(id: str) -> None:
    with pytest.raises(UsageError) as caught:
        explanation.text(id, Config())
    assert caught.value.hint and "perfdiag-findings(7)" in caught.value.hint
    assert str(caught.value).isprintable() and len(str(caught.value)) < 300


@pytest.mark.parametrize("account", [a for a in ACCOUNTS if a.name != "unexplained"], ids=lambda account: account.name)
def test_every_account_is_explained_too(account: Account) -> None:
    text = explanation.text(f" {account.name.upper()}", Config())
    words = " ".join(text.split()).lower()
    assert text.startswith(f"{account.name}\n") and account.meaning.lower() in words and account.object in words
    assert max(map(len, text.splitlines())) <= explanation.WIDTH and text.endswith("\n") and not text.endswith("\n\n")
    naming = {rule.id for rule in RULES.values() if account.name in rule.accounts}
    assert all(f"\n  {id} " in text for id in naming)


def test_a_finding_goes_before_an_account_of_its_name() -> None:
    assert explanation.text("unexplained", Config()).startswith("UNEXPLAINED\n")
    assert [account.name for account in ACCOUNTS if account.name.upper() in RULES] == ["unexplained"]


def test_what_an_account_counts_as() -> None:
    assert "part of the busy time" in explanation.text("lock.futex", Config())
    assert "part of no share" in explanation.text("wait.timer", Config())
    parked = explanation.text("wait.parked", Config())
    assert "left out of percentages" in parked and "py-spy dump" in parked


def test_an_unknown_account_gets_the_closest() -> None:
    with pytest.raises(UsageError) as caught:
        explanation.text("lokc.futex", Config())
    assert caught.value.hint and "lock.futex" in caught.value.hint


def test_names_of_findings_lead_to_their_rule() -> None:
    """ "DISK-READ-SLOW" stood above "the disk is fast": reports have another name for that, `id` in JSON stays."""
    names = [name for rule in RULES.values() for name in rule.names.values()]
    assert names and len(names) == len(set(names)) and RULES.keys().isdisjoint(names)
    assert all(name in explanation.text(name.lower(), Config()) for name in names)
    with pytest.raises(UsageError) as caught:
        explanation.text("READS-MANY", Config())
    assert caught.value.hint and "DISK-READS-MANY" in caught.value.hint
    assert "DISK-READS-MANY where reads are fast" in " ".join(explanation.text("DISK-READ-SLOW", Config()).split())
    model = Builder(window="10 s").thread("db", disk_read="9 s").model()
    many = finding("DISK-READ-SLOW", {"disk.read": 9 * 10**9}, severity=Severity.INFO, mechanism=Mechanism.MANY)
    whole = made(model, many)
    assert "1 DISK-READS-MANY " in plain(whole) and whole.findings[0].id == "DISK-READ-SLOW"
    assert made(model, finding("DISK-READ-SLOW", {"disk.read": 9 * 10**9})).findings[0].shown == "DISK-READ-SLOW"
