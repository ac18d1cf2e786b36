"""`make lab-shell`: no guest stays behind when its input is at an end, or who started it is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from lab.support import shell
from unit.support.waiting import until

TILL_END_OF_INPUT = f"""
import sys
said = b""
while not said.endswith({shell.END_OF_INPUT!r}):
    said += sys.stdin.buffer.read(1)
open(sys.argv[1], "wb").write(said)
sys.exit(7)
"""


@pytest.fixture
def said(tmp_path: Path) -> Path:
    (tmp_path / "input").write_bytes(b"uname -r\n")
    return tmp_path / "said"


def test_a_shell_is_told_that_its_input_is_at_an_end(said: Path) -> None:
    words = [sys.executable, "-c", TILL_END_OF_INPUT, str(said)]
    with (said.parent / "input").open("rb") as source:
        assert shell.run(words, source, again=0.05) == 7
    assert said.read_bytes() == b"uname -r\n" + shell.END_OF_INPUT


def test_a_guest_that_does_not_end_by_itself_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    with Path(os.devnull).open("rb") as source:
        assert shell.run(["sh", "-c", "echo $$; exec sleep 60"], source, again=0.05, patience=0.2) == 1
    told = capfd.readouterr()
    assert "did not end 0.2 s after its input did" in told.err
    assert not Path(f"/proc/{int(told.out)}").exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_guest_ends_with_who_started_it(how: signal.Signals) -> None:
    program = "import sys; from lab.support import shell; shell.run(['sh', '-c', 'echo $$; exec sleep 60'], None)"
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, cwd=ROOT / "tests", stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout
        guest = Path(f"/proc/{int(process.stdout.readline())}")
        process.send_signal(how)
        process.wait()
        until(lambda: not guest.exists(), "the guest has ended")
