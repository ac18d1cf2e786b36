"""The completion files in the shells that load them; bash's is tested with the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

BIN = ROOT / "build/bin"


def said(shell: str, script: str, home: Path) -> str:
    """Return what a script says in a shell that has read no other file."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here: make deps installs it")
    completion = home / f"perfdiag.{shell}"
    with completion.open("w") as file:
        subprocess.run([BIN / "perfdiag", "completion", shell], stdout=file, check=True)
    words = {"zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}[shell]
    environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home), "FILE": str(completion)}
    run = subprocess.run([*words, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


@pytest.mark.parametrize(
    ("line", "candidate"),
    [
        ("perfdiag lat", "latency\t"),
        ("perfdiag explain disk-flush-s", "DISK-FLUSH-SLOW\t"),
        ("perfdiag report --f", "--full\t"),
    ],
)
def test_fish_completes(line: str, candidate: str, tmp_path: Path) -> None:
    assert said("fish", f"source $FILE; complete -C '{line}'", tmp_path).startswith(candidate)


def test_zsh_completes(tmp_path: Path) -> None:
    """In a terminal of its own: zsh completes nothing elsewhere."""
    script = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -U compinit; compinit -D; source $FILE; print read''y'
zpty -r -m shell output '*ready*'
zpty -w -n shell $'perfdiag explain disk-flush-s\\t'
zpty -r -m shell output '*FLUSH-SLOW*' && print -r -- $output
"""
    assert "DISK-FLUSH-SLOW" in said("zsh", script, tmp_path)


def test_what_is_typed_wrong_is_completed_in_silence() -> None:
    """An error stood in the middle of the prompt."""
    environment = {"_PERFDIAG_COMPLETE": "bash_complete", "COMP_WORDS": "perfdiag latency foo ", "COMP_CWORD": "3"}
    run = subprocess.run(
        [BIN / "perfdiag"], env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.stdout, run.stderr) == ("", "")
