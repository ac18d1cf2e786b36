"""Commands that check a fix are pasted as root: what a user named is one word of theirs, for each shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from perfdiag.diagnosis.evidence.fix_checks import steady, watched

# As watch(1) of procps: -x runs the words, without it a shell reads them again.
WATCH = """#!/bin/sh
shift 2
if [ "$1" = -x ]; then shift; exec "$@"; fi
exec sh -c "$*"
"""

NAMES = [
    "app-a\\x2db;touch proof;x",
    "run-p\\x2dq.scope",
    "$(touch proof)",
    "it's `touch proof`",
    'a "b" & touch proof',
    "-e",
]


def _pasted(command: str, folder: Path) -> str:
    stand_in = folder / "bin/watch"
    stand_in.parent.mkdir()
    stand_in.write_text(WATCH)
    stand_in.chmod(0o755)
    run = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={"PATH": f"{stand_in.parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert run.stderr == ""
    return run.stdout


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_control_group_is_never_a_command(name: str, tmp_path: Path) -> None:
    group = tmp_path / name
    group.mkdir()
    counters = group / "memory.events"
    counters.write_text("low 0\noom_kill 3\nmax 5\n")
    checks = [
        steady(str(counters), "oom_kill"),
        steady(str(counters), "oom_kill", "max"),
        watched("cat", str(counters)),
    ]
    for number, (check, expected) in enumerate(
        zip(checks, ["oom_kill 3\n", "oom_kill 3\nmax 5\n", "low 0\noom_kill 3\nmax 5\n"], strict=True)
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert _pasted(check.partition("   (")[0], folder) == expected
        assert not list(tmp_path.rglob("proof"))
