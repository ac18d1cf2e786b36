"""What findings advise: reversible trials with their undo, risks named, and some things never, whatever is found.

All findings that the fixtures of tests/unit/test_findings_*.py produce are looked at, not a list kept by hand.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, RemedyKind, Severity
from perfdiag.diagnosis.rules import RULES
from perfdiag.recording.accounts import ACCOUNTS, BY_NAME, Kind

from conftest import ROOT
from unit.support import Builder
from unit.support.never import NEVER, forbidden, texts
from unit.support.recorded import recorded

# perfdiag's own process that writes a file, and ends by itself.
OWN_PROCESS = "process ... continues and ends by itself (kill -KILL ... abandons the file); then: ..."

DOCUMENTED = ("title", "meaning", "measured", "alternatives", "remedies", "verify")
IDS = sorted(RULES)


@pytest.mark.parametrize("name", NEVER)
def test_the_list_catches_what_it_is_for(name: str) -> None:
    pattern, sentence = NEVER[name]
    assert re.search(pattern, sentence, re.IGNORECASE)
    assert not re.search(pattern, "run as many worker threads as CPUs", re.IGNORECASE)


def test_a_warning_against_it_is_no_advice() -> None:
    assert forbidden("Never WAL on NFS.") == [] and forbidden("Try this: WAL on NFS.") == ["WAL on NFS"]


@pytest.mark.parametrize("id", IDS)
def test_no_documentation_advises_it(id: str) -> None:
    for part in DOCUMENTED:
        assert forbidden(getattr(RULES[id], part)) == [], part


def test_no_text_of_the_sources_advises_it() -> None:
    """Also those that no fixture brings about; the tables of remedies, and what is not a finding's."""
    modules = sorted((ROOT / "lib/perfdiag").rglob("*.py"))
    said = {(path.name, text) for path in modules for text in texts(path)}
    assert len(said) > 2000, "the sources have texts: where are they?"
    assert ("output_file.py", OWN_PROCESS) in said, "what is put into texts is left open"
    found = [(name, text) for name, text in sorted(said) if text != OWN_PROCESS and forbidden(text)]
    assert found == []


@pytest.mark.parametrize("place", ["man/*.[1-9]", "*.md", "tests/incidents/README.md"])
def test_no_page_advises_it(place: str) -> None:
    pages = sorted(ROOT.glob(place))
    assert pages
    assert {page.name: forbidden(page.read_text()) for page in pages} == {page.name: [] for page in pages}


def test_a_text_is_found_wherever_it_stands(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('def f(pid):\n    """Never kill -9 a database."""\n    return fix(f"kill -9 {pid} " "at once")\n')
    assert list(texts(module)) == ["kill -9 ... at once"] and forbidden("kill -9 ... at once") == ["killing"]


# What the fixtures produce


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return recorded().findings


def test_every_rule_finds_something_in_some_fixture(findings: list[Finding]) -> None:
    assert set(IDS) - {finding.id for finding in findings} == set()


def test_no_remedy_is_forbidden(findings: list[Finding]) -> None:
    advised = {
        (finding.id, text)
        for finding in findings
        for remedy in finding.remedies
        for text in (remedy.text, remedy.undo, finding.verify)
    }
    assert len(advised) > len(IDS)
    assert [(id, text, forbidden(text)) for id, text in advised if forbidden(text)] == []


def test_a_trial_names_undo_and_present_value_and_both_are_one_shell_line(findings: list[Finding]) -> None:
    trials = [remedy for finding in findings for remedy in finding.remedies if remedy.kind is RemedyKind.TRY]
    assert trials
    for remedy in trials:
        assert remedy.undo and remedy.present_value and remedy.undo != remedy.text, remedy
        for command in (remedy.text, remedy.undo):
            assert "\n" not in command and shlex.split(command), command


def test_a_risk_is_named_and_never_comes_first(findings: list[Finding]) -> None:
    for finding in findings:
        assert finding.remedies, finding
        kinds = [remedy.kind for remedy in finding.remedies]
        assert kinds[0] is not RemedyKind.RISKY, finding
        assert all(remedy.risk for remedy in finding.remedies if remedy.kind is RemedyKind.RISKY), finding


def test_every_finding_can_be_verified_and_read(findings: list[Finding]) -> None:
    for finding in findings:
        assert finding.verify and finding.claim.endswith("."), finding
        # Samples carry what is to be compared; where they did not show the cause, all stacks may.
        assert "--stacks" not in finding.verify or finding.mechanism is Mechanism.UNDETERMINED
        texts = (
            finding.claim,
            finding.verify,
            *finding.limits,
            *finding.ruled_out,
            *finding.alternatives,
            *(evidence.text for evidence in finding.evidence),
            *(remedy.text for remedy in finding.remedies),
        )
        assert all(text and text.isprintable() for text in texts), texts


def test_high_confidence_needs_exact_numbers_or_their_error(findings: list[Finding]) -> None:
    for finding in findings:
        if finding.confidence is Confidence.HIGH:
            sampled = [evidence for evidence in finding.evidence if "stack samples" in evidence.probe]
            assert all(evidence.error is not None or evidence.unit == "count" for evidence in sampled), finding


def test_a_governors_name_is_never_the_claim(findings: list[Finding]) -> None:
    for finding in findings:
        for word in ("powersave", "schedutil", "ondemand", "governor"):
            assert word not in finding.claim, finding.claim


# The rules as a whole


@pytest.mark.parametrize("id", IDS)
def test_every_id_has_something_to_explain(id: str) -> None:
    rule = RULES[id]
    assert re.fullmatch(r"[A-Z]+(-[A-Z]+)*", id)
    assert 10 < len(rule.title) < 80 and not rule.title.endswith(".")
    for part in DOCUMENTED[1:]:
        text = getattr(rule, part)
        assert text and "\n" not in text and text.isprintable(), f"{id}: {part}"
        assert text[-1] in ".;)" or part == "verify", f"{id}: {part} does not end a sentence"
        assert "  " not in text, f"{id}: {part} has two blanks"
    assert len(rule.meaning) > 60, f"{id}: what does it mean?"
    assert all(account in BY_NAME for account in rule.accounts)


def test_every_account_that_costs_time_can_be_named_by_a_rule() -> None:
    named = {account for rule in RULES.values() for account in rule.accounts}
    wanted = {account.name for account in ACCOUNTS if account.kind is Kind.LATENCY}
    assert wanted - named == set()


def test_no_healthy_recording_is_more_than_a_profile(findings: list[Finding]) -> None:
    healthy = {
        "asleep": Builder().thread("idle", wait_timer="9 s"),
        "a few requests": Builder().thread(
            "web",
            cpu_user="40 ms",
            cpu_kernel="20 ms",
            disk_read=("4 ms", 40),
            runq_waking=("3 ms", 400),
            net_receive=("20 ms", 200),
        ),
        "computing": Builder().thread("job", cpu_user="9900 ms", cpu_kernel="50 ms"),
        "a pool asleep": Builder().thread("main", cpu_user="100 ms").thread("worker", wait_parked="9 s"),
    }
    for name, builder in healthy.items():
        faults = [
            finding.claim for finding in diagnose(builder.model()).findings if finding.severity is not Severity.INFO
        ]
        assert faults == [], name
