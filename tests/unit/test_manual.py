"""The generated manual pages: complete, and what mandoc calls clean."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.diagnosis.rules import RULES
from perfdiag.documents import manual
from perfdiag.recording.accounts import ACCOUNTS


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
    assert manual.prose(".so /etc/passwd") == ["\\&.so /etc/passwd"]
    assert manual.prose("a \\n(yr b") == ["a \\en(yr b"]
    assert manual.prose("One. Two -x.") == ["One.", "Two \\-x."]
    assert manual.prose("calls open(), (accept()) and more") == ["calls", ".Fn open ,", ".Fn ( accept )", "and more"]


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
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"perfdiag-accounts.7", "perfdiag-findings.7"}
    refused = run()
    assert refused.returncode == 2 and "one directory" in refused.stderr and "Traceback" not in refused.stderr


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PerfdiagError, match="cannot be written"):
        manual.main([str(tmp_path / "file")])
    with pytest.raises(UsageError):
        manual.main(["--help"])
