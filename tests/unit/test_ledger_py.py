"""tools/ledger.py: what it shares with the recorder is the same there; its header is like the others'."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from types import ModuleType

import pytest
from perfdiag.documents import script_header
from perfdiag.recording.accounts import ACCOUNTS

from bench import tools as bench
from conftest import ROOT
from unit.support.programs import program

PATH = ROOT / "tools/ledger.py"
TABLE = (ROOT / "lib/recorder/program/syscall_table.c").read_text()
CLASSES = {
    match[1]: set(" ".join(re.findall(r'"([^"]*)"', match[2])).split())
    for match in re.finditer(r"\[SYSCALL_(\w+)\] =((?:\s*\"[^\"]*\")+)", TABLE)
}
OF_ACCOUNT = {
    "disk.flush": ("FSYNC", "SYNC", "MSYNC"),
    "wait.events": ("POLL", "SELECT", "EVENTS"),
    "wait.parked": ("FUTEX",),
    "wait.timer": ("SLEEP",),
    "wait.child": ("CHILD",),
    "wait.signal": ("SIGNAL",),
    "wait.io_uring": ("URING", "AIO"),
    "net.connect": ("CONNECT",),
    "net.accept": ("ACCEPT",),
    "lock.file": ("LOCK",),
}


@pytest.fixture(scope="module")
def ledger() -> ModuleType:
    return program("ledger.py")


def words(*classes: str) -> set[str]:
    return set().union(*(CLASSES[name] for name in classes))


def test_accounts_are_those_of_the_ledger(ledger: ModuleType) -> None:
    known = [each.name for each in ACCOUNTS]
    assert set(ledger.ACCOUNTS) <= set(known) and len(set(ledger.ACCOUNTS)) == len(ledger.ACCOUNTS) < 32
    assert ledger.READ > len(ledger.ACCOUNTS) < ledger.WRITE, "no account has these numbers"


def test_calls_are_those_of_the_recorder(ledger: ModuleType) -> None:
    assert {name: set(calls.split()) for name, calls in ledger.CALLS.items()} == {
        name: words(*classes) for name, classes in OF_ACCOUNT.items()
    }
    assert set(ledger.READS.split()) == words("FD_READ", "RECEIVE")
    assert set(ledger.WRITES.split()) == words("FD_WRITE", "SEND")


def test_it_runs_on_the_python_of_old_hosts() -> None:
    """Debian 11, whose kernel the recorder declines, has 3.9."""
    ast.parse(PATH.read_text(), feature_version=(3, 9))


def test_header() -> None:
    told = script_header.parse(PATH)
    assert told.synopsis == "ledger.py PID [SECONDS]" and len(told.output) > 3, "an example that was run"
    assert told.overhead == bench.of(bench.MEASURED / "ledger.py.json").text(), "make tool-overhead"
    assert [name for name, _ in told.fields] == ["header", "thread", "footer"]
    assert PATH.read_text().startswith("#!/usr/bin/python3 -I\n# SPDX") and PATH.stat().st_mode & 0o111


@pytest.mark.parametrize("part", [r"import _signal\n.*?\n\n", r"@contextlib.contextmanager\ndef folder\(.*?\n\n\n"])
def test_it_has_alike_what_each_program_needs(part: str) -> None:
    """So that each can be copied alone."""
    found = [re.search(rf"^{part}", path.read_text(), re.MULTILINE | re.DOTALL) for path in PATH.parent.glob("*.py")]
    assert len({match and match[0] for match in found}) == 1 and None not in found


@pytest.mark.parametrize("arguments", [[], ["x"], ["-1"], ["1", "2", "3"], ["1", "2s"]])
def test_wrong_arguments_are_refused(arguments: list[str]) -> None:
    run = subprocess.run([sys.executable, "-I", PATH, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and run.stdout == ""
    error, hint = run.stderr.splitlines()
    assert error.startswith("error: ") and hint == "HINT: ledger.py PID [SECONDS]"


def test_help_is_given() -> None:
    run = subprocess.run([sys.executable, "-I", PATH, "--help"], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and run.stdout.startswith("usage: ledger.py [-h] PID [SECONDS]") and not run.stderr
