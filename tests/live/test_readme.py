"""Every line of the README's "Commands" runs as it is written, on a small workload of the test's own."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

PROGRAM = ROOT / "build/bin/perfdiag"
TEXT = (ROOT / "README.md").read_text()
BLOCK = re.search(r"^## Commands\n\n```sh runnable\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
LINES = BLOCK[1].splitlines() if BLOCK else []


@pytest.fixture
def workload() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "120"]) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def as_here(line: str, pid: int, port: int, folder: Path) -> list[str]:
    """Return a line's words for what runs here: its names are examples, its options are what it says."""
    archive = folder / "linux.tar"
    subprocess.run(["tar", "cf", archive, "-C", ROOT, "man"], check=True)
    subprocess.run([PROGRAM, "record", "-q", "-o", folder / "FILE", "-d", "200ms", "--pid", str(pid)], check=True)
    words = shlex.split(line)
    changed = {"PID": str(pid), "5432": str(port), "30": "1", "batch.rec": str(folder / "batch.rec")}
    changed |= {"FILE": str(folder / "FILE"), "linux.tar": str(archive), "postgres|pgbouncer": "^no-such-program$"}
    words = [changed.get(word, word) for word in words[1:]]
    if words[0] in ("latency", "record") and "-d" not in words and "--duration" not in words and "--" not in words:
        words[1:1] = ["--duration", "500ms"]
    return words


def test_there_are_lines() -> None:
    assert len(LINES) >= 10


@pytest.mark.parametrize("line", [line for line in LINES if "HOST-FILE" not in line])
def test_it_runs(line: str, workload: subprocess.Popen[bytes], port: int, tmp_path: Path) -> None:
    words = as_here(line, workload.pid, port, tmp_path)
    gone = {"--unit", "--container", "--name", "--cgroup"} & set(words)
    told = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    if gone:  # nothing of that name runs here: understood as it is written, and nothing else is wrong with it
        assert told.returncode in (0, 4), told.stderr
        return
    assert told.returncode == 0, told.stderr
    assert told.stdout or words[0] == "record"


def test_two_files_are_understood(workload: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """The two of one machine do not belong together, and that alone is what it says."""
    for name in ("HOST-FILE", "GUEST-FILE"):
        subprocess.run(
            [PROGRAM, "record", "-q", "-o", tmp_path / name, "-d", "200ms", "-p", str(workload.pid)], check=True
        )
    assert any("HOST-FILE GUEST-FILE" in line for line in LINES)
    told = subprocess.run([PROGRAM, "report", "HOST-FILE", "GUEST-FILE"], capture_output=True, text=True, cwd=tmp_path)
    assert told.returncode == 1 and told.stderr.startswith("error: ") and "guest" in told.stderr
