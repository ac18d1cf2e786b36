"""An engine that never traces is waited for no longer than it may take, and given up with its reason."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.support.bpftrace import instead_of_bpftrace
from live.support.dying import PROGRAM, Remote
from live.support.fixtures import Cleanup, Start
from live.support.workload import Workload

SLOW = "note: probes take longer than 5 s to attach; waiting up to 150 s"


@pytest.fixture
def spinning(start: Start) -> Iterator[Workload]:
    workload = start("spin", "--duration-ms", 100_000)
    workload.start()
    yield workload
    workload.process.kill()


def said_of(script: str, target: Workload, folder: Path) -> list[str]:
    """Run a recording with a shell script instead of bpftrace, which fails; return what it said, without progress."""
    path = folder / "none.rec"
    words = [*instead_of_bpftrace(folder / "bpftrace", script), PROGRAM, "record", "--engine", "bpftrace"]
    words += ["-o", path, "--pid", target.pid, "--duration", 1]
    run = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 1 and not path.exists(), run
    return [line for line in run.stderr.splitlines() if not line.startswith("perfdiag: recording")]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 300", [SLOW, "error: bpftrace traces nothing after 30 s"]),
        ("exec sleep 300 >&-", [SLOW, "error: bpftrace closed its output, and has not ended for 10 s"]),
    ],
    ids=["silent", "closed"],
)
def test_it_hangs(script: str, said: list[str], tmp_path: Path, spinning: Workload) -> None:
    *lines, hint = said_of(script, spinning, tmp_path)
    assert lines == said and hint.startswith("HINT: ")


@pytest.mark.timeout(120)
@pytest.mark.may_skip("FUSE in the kernel")
def test_it_cannot_be_killed(tmp_path: Path, spinning: Workload, cleanup: Cleanup) -> None:
    """It waits for a dead server, where no signal ends it: it is left behind."""
    remote = Remote(tmp_path / "remote", "read")
    cleanup.callback(remote.end)
    remote.die()
    *_, error, hint = said_of(f"exec dd iflag=direct if={remote.directory}/data", spinning, tmp_path)
    assert error.startswith("error: bpftrace (") and error.endswith(
        "was killed, and has not ended for 5 s: it waits in the kernel"
    )
    assert hint.startswith("HINT: cat /proc/")
