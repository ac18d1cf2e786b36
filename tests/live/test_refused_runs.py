"""Runs that cannot give a report, and say so before they measure anything."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from conftest import ROOT

PROGRAM = ROOT / "build/bin/perfdiag"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "120"]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_what_cannot_be_printed_is_not_measured(sleeper: subprocess.Popen[bytes]) -> None:
    with open("/etc/hostname", "rb") as for_reading:
        run = subprocess.run(
            [PROGRAM, "latency", "--pid", str(sleeper.pid), "--duration", "30"],
            stdout=for_reading,
            stderr=subprocess.PIPE,
            text=True,
            timeout=10,
            check=False,
        )
    assert run.returncode == 1 and run.stderr.startswith("error: standard output is closed, or open for reading only")


def test_root_of_a_user_namespace_alone_is_not_permitted(sleeper: subprocess.Popen[bytes]) -> None:
    words = ["unshare", "-r", PROGRAM, "latency", "--pid", str(sleeper.pid), "--duration", "1"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 3 and "here root is one of a user namespace only" in run.stderr, run
