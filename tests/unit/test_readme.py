"""The README is true: its report is a real one, its commands work, its tree and its names exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from perfdiag.diagnosis.rules import RULES
from perfdiag.recording.accounts import ACCOUNTS

from conftest import ROOT

README = ROOT / "README.md"
TEXT = README.read_text()
REPORT = ROOT / "tests/data/readme-report.txt"
BLOCK = re.compile(r"(<!-- report: tests/data/readme-report\.txt -->\n```\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
COMMANDS = [
    line
    for block in re.findall(r"^```sh runnable\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
LAUNCHER = ROOT / "build/bin/perfdiag"


def test_length() -> None:
    written = re.sub(r"<!-- (costs|engines|kernels|tools): .*?<!-- end of \1 -->\n*", "", TEXT, flags=re.DOTALL)
    assert written.count("\n") < 150, "of what is written by hand"


def test_report_is_the_recorded_one(update: bool) -> None:
    """The lines are those of the file, which `make readme` takes from a run of the demo."""
    report = REPORT.read_text()
    if update:
        README.write_text(BLOCK.sub(lambda match: match[1] + report + match[3], README.read_text()))
    block = BLOCK.search(README.read_text())
    assert block, "the README has no report"
    assert block[2] == report


def test_report_is_whole() -> None:
    lines = REPORT.read_text().splitlines()
    assert 10 < len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for part in ("PROBLEM", "FIX", "BUSY TIME", "RULED OUT", "TRUST"):
        assert any(line.startswith(part) for line in lines), f"the report has no {part}"


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str) -> None:
    """A make target exists; a perfdiag command and each option it is given stand in its own help."""
    words = [word for word in shlex.split(command) if word != "sudo"]
    if words[0] == "make":
        subprocess.run(["make", "-C", ROOT, "--dry-run", *words[1:]], check=True, capture_output=True)
        return
    assert Path(words[0]).name == "perfdiag", f"not a command this test can check: {command}"
    own = words[2 : words.index("--")] if "--" in words else words[2:]
    environment = {**os.environ, "COLUMNS": "200"}
    told = subprocess.run(
        [LAUNCHER, words[1], "--help"], check=True, capture_output=True, text=True, env=environment, timeout=30
    ).stdout
    for option in (word for word in own if word.startswith("-")):
        assert re.search(rf"(^|[\s,]){re.escape(option)}([\s,=\[]|$)", told, re.MULTILINE), f"no {option} in its help"


def test_tree() -> None:
    """What the tree shows exists, and no file or folder at the top of the project is missing from it."""
    tree = TEXT[TEXT.index("perfdiag/\n├") :].split("```")[0]
    parents: list[str] = []
    shown = set()
    for line in tree.splitlines()[1:]:
        names = line.lstrip("│├└─ ").split()
        level = (len(line) - len(line.lstrip("│├└─ "))) // 4 - 1
        parents[level:] = names[:1]
        for name in [*names[:1], *(name for name in names[1:] if (ROOT / name).is_file())]:
            path = "".join(parents[:level]) + name
            assert (ROOT / path).exists(), f"{path} does not exist"
            shown.add(path.rstrip("/"))
    top = {path.name for path in ROOT.iterdir() if path.is_file() or any(path.iterdir())}
    assert {name for name in top - shown if not name.startswith(".")} - {"build", "README.md"} == set()


def test_names() -> None:
    """Accounts, findings and probes that the README names are those that exist."""
    table = TEXT[TEXT.index("| question") : TEXT.index("Every account:")]
    names = set(re.findall(r"`([^`]+)`", table))
    accounts = {account.name for account in ACCOUNTS}
    classes = {name.split(".")[0] + ".*" for name in accounts}
    probes = {path.name.removesuffix(".bpf.c") for path in (ROOT / "bpf").rglob("*.bpf.c")}
    assert names - accounts - classes - probes - set(RULES) == set()
    assert {probe for probe in probes if probe not in names} == set(), "a probe that answers no question"
    assert set(RULES) - names == set(), "findings that answer no question"
