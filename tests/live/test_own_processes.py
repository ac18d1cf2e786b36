"""perfdiag measures a shell that it was started from, or a group that it runs in, and leaves itself out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from conftest import ROOT

PROGRAM = ROOT / "build/bin/perfdiag"
OWN = ("perfdiag", "python")


def test_of_the_shell_that_started_it_perfdiag_is_no_part(tmp_path: Path) -> None:
    to = tmp_path / "report"
    script = f"sleep 30 & {PROGRAM} latency --pid $$ --duration 1 --json -o {to}; kill %1"
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert "note: perfdiag was started from this target" in told.stderr
    comms = {thread["comm"] for thread in json.loads(to.read_text())["threads"]}
    assert comms == {"bash", "sleep"}, "not perfdiag's own, and all others"


def test_only_the_shell_needs_no_note(tmp_path: Path) -> None:
    script = f"{PROGRAM} latency --pid $$ --only --duration 0.5; true"
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert told.stdout and "note:" not in told.stderr
