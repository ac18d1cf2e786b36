"""Launcher and recorder refuse to be set-user-id: who starts them would be root, in an environment of his making."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT
from unit.support.house import House

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program as two users at once")
USER = 1234
RECORDER = ROOT / "build/bin/perfdiag-recorder"


def set_user_id() -> None:
    os.setresuid(USER, 0, 0)


def set_group_id() -> None:
    os.setresgid(USER, 0, 0)


@ONLY_ROOT
@pytest.mark.parametrize("become", [set_user_id, set_group_id])
@pytest.mark.parametrize("what", ["launcher", "recorder"])
def test_it_refuses_and_says_so(house: House, become: Callable[[], None], what: str) -> None:
    """Also where it would only tell its version: nothing is done before."""
    program = house.program if what == "launcher" else RECORDER
    run = subprocess.run([program, "--version"], preexec_fn=become, capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stdout) == (3, "")
    error, hint = run.stderr.splitlines()
    assert error.startswith(f"error: {Path(program).name} was started set-user-id") and hint.startswith("HINT: ")


@ONLY_ROOT
def test_a_file_that_is_set_user_id_is_refused(house: House, open_folder: Path) -> None:
    program = open_folder / "perfdiag"
    program.write_bytes(Path(house.program).read_bytes())
    program.chmod(0o6755)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip("the folder of temporary files is mounted nosuid")
    run = subprocess.run([program, "--version"], user=USER, group=USER, capture_output=True, text=True, timeout=30)
    assert run.returncode == 3 and f"by user {USER}, " in run.stderr and "as user 0, " in run.stderr


def test_a_recorder_that_refuses_is_told(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    """It has not read its options by then, and says nothing on its control socket."""
    house.plan = "set-user-id"
    for words in (["latency", "--pid", str(sleeper.pid)], ["check"]):
        run = house.run(*words)
        assert run.returncode == 3 and "error: perfdiag-recorder was started set-user-id" in run.stderr
        assert len(re.findall("^HINT: ", run.stderr, re.MULTILINE)) == 1


def test_the_recorder_trusts_no_variable() -> None:
    """Where a file gives it capabilities, its environment is that of whoever started it."""
    sources = [path for path in (ROOT / "lib/recorder").rglob("*.c") if path.parent.name != "launcher"]
    trusting = [path.name for path in sources if re.search(r"(?<!secure_)\bgetenv\(", path.read_text())]
    assert len(sources) > 10 and trusting == []
