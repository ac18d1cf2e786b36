"""The check of `make lint-prose`: its rules pass their own tests, and it sees the sentences that users read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from prose import texts

RULES = sorted((ROOT / "tests/prose/rules").glob("*.weir"))
HARPER = Path(sys.executable).parent / "harper"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.stem)
def test_rule(rule: Path) -> None:
    assert '\ntest "' in rule.read_text(), "a rule without a test"
    done = subprocess.run([HARPER, "test", rule], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "All tests pass!" in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("two\n   words", "two words"),
        ("sums of `wait.parked` and disk.flush", "sums of X and X"),
        ("It ends. Who reads is told.", "It ends. Sentencestart Who reads is told."),
        ("It ends. Who reads?", "It ends. Who reads?"),
        ("It says who reads.", "It says who reads."),
    ],
)
def test_plain(written: str, seen: str) -> None:
    assert texts.plain(written) == seen


def test_python_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "PACKAGE", tmp_path)
    path = tmp_path / "report" / "lines.py"
    path.parent.mkdir()
    path.write_text('"""The first line.\n\nThe second."""\nname = f"slow for {seconds}"\nshort = "two words"\n')
    assert [line.text for line in texts.python_lines(path)] == ["The first line.", "slow for 7"]


def test_markdown_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# Title\n\nOne sentence\nof two lines.\n```\ncode here\n```\n- an item\n- another\n")
    lines = list(texts.markdown_lines(path))
    assert [line.text for line in lines] == ["Title", "One sentence of two lines.", "an item", "another"]
    assert [line.number for line in lines] == [1, 3, 8, 9]
