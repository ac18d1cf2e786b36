"""What make test does while the unit tests run is over before a test of another tier begins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

UNIT, LIVE = "tests/unit/test_units.py", "tests/live/test_truth.py"


def planned(pid: int, log: Path) -> subprocess.Popen[str]:
    """Start pytest with tests of two tiers, none of which it runs."""
    words = [sys.executable, "-um", "pytest", "-p", "no:cacheprovider", "--setup-plan", UNIT, LIVE]
    return subprocess.Popen([*words, "--meanwhile", str(pid), str(log)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_other_tiers_wait_for_the_end_and_show_what_was_written(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as stream:
        made = subprocess.Popen(["sh", "-c", "read go; echo made"], stdin=subprocess.PIPE, stdout=stream)
    with made, planned(made.pid, log) as tests:
        assert made.stdin and tests.stdout
        lines = []
        for line in tests.stdout:
            lines.append(line)
            if line.startswith(UNIT):
                assert made.poll() is None
                made.stdin.close()
    before, after = "".join(lines).split("made\n")
    assert UNIT in before and LIVE not in before and LIVE in after


def test_what_is_over_at_once_is_shown_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("made\n")
    with subprocess.Popen(["true"]) as over:
        pass
    before, after = planned(over.pid, log).communicate()[0].split("made\n")
    assert LIVE not in before and LIVE in after
