"""The generated manual pages: complete, and what mandoc calls clean."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from perfdiag import cli
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.diagnosis.rules import RULES
from perfdiag.documents import manual, mdoc
from perfdiag.documents.symptoms import SYMPTOMS
from perfdiag.recording.accounts import ACCOUNTS

from conftest import ROOT


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in manual.write(tmp_path / "man")}


def test_every_rule_and_every_account_has_its_place(pages: dict[str, str]) -> None:
    assert re.findall(r"^\.Ss ([A-Z-]+)$", pages["perfdiag-findings.7"], re.MULTILINE) != []
    assert set(re.findall(r"^\.Ss (.*)$", pages["perfdiag-findings.7"], re.MULTILINE)) == set(RULES)
    named = re.findall(r"^\.It Va (.*)$", pages["perfdiag-accounts.7"], re.MULTILINE)
    assert sorted(named) == sorted(account.name for account in ACCOUNTS)


def test_every_account_names_the_findings_that_can_name_it(pages: dict[str, str]) -> None:
    for entry in pages["perfdiag-accounts.7"].split(".It Va ")[1:]:
        name = entry.split("\n")[0]
        text = " ".join(entry.split(".El")[0].split())
        for rule in RULES.values():
            assert (name in rule.accounts) == bool(re.search(rf"Findings:.*\b{rule.id}\b(?!-)", text)), (name, rule.id)


def test_the_runbook_names_every_finding_and_no_other(pages: dict[str, str]) -> None:
    assert {id for symptom in SYMPTOMS for id in symptom.findings} == set(RULES)
    named = re.findall(r"^\.It Sy (.*)$", pages["perfdiag-runbook.7"], re.MULTILINE)
    assert named == [id for symptom in SYMPTOMS for id in symptom.findings]
    for symptom in SYMPTOMS:
        assert len(set(symptom.findings)) == len(symptom.findings), symptom.title


@pytest.mark.parametrize("command", [each for symptom in SYMPTOMS for each in symptom.commands])
def test_the_command_line_of_a_symptom_is_accepted(command: str) -> None:
    """click reads it: each option exists and takes its value."""
    name, *words = command.removeprefix("perfdiag ").split()
    parent = click.Context(cli.cli, help_option_names=["-h", "--help"])  # click keeps a command's first
    found = cli.cli.get_command(parent, name)
    assert found is not None
    context = click.Context(found, parent=parent, resilient_parsing=True)
    found.make_parser(context).parse_args(words)


def test_pages_that_the_runbook_refers_to_exist(pages: dict[str, str]) -> None:
    scripts = {f"perfdiag-{path.name}" for folder in ("tools", "dtrace") for path in (ROOT / folder).iterdir()}
    texts = " ".join(f"{symptom.then} {symptom.seen_as}" for symptom in SYMPTOMS)
    named = re.findall(r"([\w.-]+)\(8\)", texts)
    assert named and set(named) <= scripts | {"perfdiag"}


def test_mandoc_finds_nothing(pages: dict[str, str], tmp_path: Path) -> None:
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    told = subprocess.run(
        ["mandoc", "-T", "lint", *map(str, sorted((tmp_path / "man").iterdir()))],
        capture_output=True,
        text=True,
        check=False,
    )
    # Pages that are not installed (yet) cannot be found by mandoc: that says nothing of these.
    bad = [line for line in told.stdout.splitlines() if "referenced manual not found" not in line]
    assert bad == []


def test_the_page_reads_as_the_rule_was_written(pages: dict[str, str], tmp_path: Path) -> None:
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    page = str(tmp_path / "man/perfdiag-findings.7")
    shown = subprocess.run(["mandoc", "-T", "ascii", page], capture_output=True, text=True, check=True).stdout
    letters = "".join(re.sub(".\b", "", shown).split())  # mandoc may break a line at a hyphen
    for rule in RULES.values():
        for text in (rule.meaning, rule.measured, rule.remedies, rule.verify):
            assert "".join(text.split()) in letters, rule.id


def test_what_roff_would_obey_is_escaped() -> None:
    assert mdoc.prose(".so /etc/passwd") == ["\\&.so /etc/passwd"]
    assert mdoc.prose("a \\n(yr b") == ["a \\en(yr b"]
    assert mdoc.prose("One. Two -x.") == ["One.", "Two \\-x."]
    assert mdoc.prose("calls open(), (accept()) and more") == ["calls", ".Fn open ,", ".Fn ( accept )", "and more"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perfdiag.documents.manual", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(manual.__file__).parents[2])},
    )


def test_the_command_writes_and_refuses(tmp_path: Path) -> None:
    assert run(str(tmp_path / "new")).returncode == 0
    written = {"perfdiag-accounts.7", "perfdiag-findings.7", "perfdiag-runbook.7"}
    assert {path.name for path in (tmp_path / "new").iterdir()} == written
    refused = run()
    assert refused.returncode == 2 and "one directory" in refused.stderr and "Traceback" not in refused.stderr


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PerfdiagError, match="cannot be written"):
        manual.main([str(tmp_path / "file")])
    with pytest.raises(UsageError):
        manual.main(["--help"])
