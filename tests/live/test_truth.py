"""Servers of `make truth` that need no package: is the first finding what was done to them?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

# Both are said wrongly by whoever adds up where threads sleep: forty wait for a lock, and the disk is slow; sixteen are
# in futex(), and one interpreter is busy.
ROWS = "^(forty-waiters|python-gil)/"


@pytest.mark.timeout(300)
def test_servers_in_python_and_their_healthy_twins(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "tests/truth/run.py", "--real-time", "--output", tmp_path, "--only", ROWS],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "4 of 4 cases made" in run.stdout
