"""What `make incidents` does when it is interrupted, and with what cannot be made; its machine here is a shell."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from incidents import run
from incidents.support import table
from incidents.support.incident import Case, Incident, cases, read
from lab.support import guest as lab

MINIMAL = 'story = "s"\ntarget = "t"\ndown = "d"\n[twin]\n[[fault]]\nname = "f"\nfirst = "DISK-FLUSH-SLOW"\n'
DEAF = "echo ready 6.1-none; while read -r job; do :; done"  # takes every job, and never answers


class Stage(run.Theatre):
    """A theatre whose guest is there already."""

    def __init__(self, guest: lab.Guest) -> None:
        super().__init__("6.1")
        self._guest = guest


@pytest.fixture
def incident(tmp_path: Path) -> tuple[Case, Incident]:
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "incident.toml").write_text(MINIMAL)
    found = read(folder)
    return cases(folder, found)[0], found


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lab.Guest:
    """A guest that is a shell."""
    (tmp_path / "guest").mkdir()
    monkeypatch.setattr(lab, "prepare_folder", lambda name: tmp_path / "guest")
    monkeypatch.setattr(lab, "command_line", lambda *words, **options: ["sh", "-c", DEAF, "machine"])
    return lab.Guest("6.1")


def test_an_interrupted_case_is_no_result(
    machine: lab.Guest, incident: tuple[Case, Incident], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of a job is no failure of the case, whatever its clean-up meets, and ends the machine."""

    really = select.select

    def interrupted(*arguments: Any) -> object:
        monkeypatch.setattr(select, "select", really)  # once
        raise KeyboardInterrupt

    monkeypatch.setattr(select, "select", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.play(Stage(machine), *incident, tmp_path / "output", {})
    assert machine.process.returncode is not None


def test_a_machine_that_does_not_answer_is_a_failed_case(
    machine: lab.Guest, incident: tuple[Case, Incident], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "JOB_SECONDS", 0.2)
    result = run.play(Stage(machine), *incident, tmp_path / "output", {})
    assert "does not answer" in result.failure and machine.process.returncode is not None


@pytest.mark.parametrize(
    "error", [UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), OverflowError("large"), ValueError()]
)
def test_whatever_happens_to_a_case_is_its_result(
    error: Exception, incident: tuple[Case, Incident], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(*_: object) -> None:
        raise error

    monkeypatch.setattr(run, "make_quietly", make)
    result = run.play(run.Theatre("6.1"), *incident, tmp_path / "output", {})
    assert result.failure.startswith(type(error).__name__)
    assert not json.loads(table.document([result], "6.1", "6.1.0", "complete"))["correct"]


def test_what_is_no_regular_expression_is_said() -> None:
    words = [sys.executable, str(ROOT / "tests/incidents/run.py"), "--output", "/nowhere", "--only", "("]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 2 and "'(' is no regular expression" in told.stderr and "Traceback" not in told.stderr
