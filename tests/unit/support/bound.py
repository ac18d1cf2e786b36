"""The bound of a report and of a look back: CPU time by the size of the recording, and memory."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from conftest import ROOT
from unit.support import Builder

FIRST_SECONDS = 1.0
BYTES_PER_SECOND = 10_000_000
MEMORY_BYTES = 300_000_000
TRIES = 5
SLOWER_WHEN_LONG = 1.25  # reports of 1 to 10 MB took 2.3 to 2.4 times as long where that of nothing took 2.1 times
START_SECONDS = 0.38  # CPU time of the report of an empty recording: 0.36 to 0.38 on a quiet machine


@dataclass(frozen=True)
class Reported:
    """A report that was made by a process of its own."""

    size_bytes: int  # of the recording
    status: int
    output: bytes
    errors: str
    cpu_seconds: float
    memory_bytes: int
    slowness: float = 1.0  # of the machine, while neighbours take its caches: 1.0 where it is quiet

    @property
    def most_seconds(self) -> float:
        """How much CPU time it may take on this machine as it is now."""
        return (FIRST_SECONDS + self.size_bytes / BYTES_PER_SECOND) * self.slowness

    def assert_within_bound(self) -> None:
        """Hold what it took against the bound."""
        took = f"{self.size_bytes:,} bytes took {self.cpu_seconds:.2f} s, {self.memory_bytes / 1e6:.0f} MB"
        assert self.cpu_seconds <= self.most_seconds, took
        assert self.memory_bytes <= MEMORY_BYTES, took

    def assert_clean(self) -> None:
        """A report, or one line and a hint."""
        assert "Traceback" not in self.errors and "bug in perfdiag" not in self.errors, self.errors
        assert self.status in (0, 1), self.errors
        if self.status:
            first, hint, *rest = self.errors.splitlines()
            assert first.startswith("error: ") and hint.startswith("HINT: ") and not rest, self.errors
        else:
            assert b"the rule itself failed" not in self.output
        assert all(line.isprintable() for line in self.output.decode().split("\n")), self.output[:2000]


# Of a process that pytest starts itself the kernel tells pytest's own memory.
_LAUNCHER = """
import json, resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump([status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024], file)
"""


def report(path: Path, *options: str) -> Reported:
    """Report a recording as a user does."""
    return measured(path, "report", *options, str(path))


def measured(path: Path, *words: str) -> Reported:
    """Run a command that reads a file, which is its standard input, too.

    Neighbours take the caches, and so CPU time, for a second here and there: what takes too long is tried again between
    two reports of nothing, and the slower of those says how much slower this machine is than a quiet one just then.
    """
    reported = replace(_run(path, *words), slowness=_least_slowness())
    for _ in range(TRIES):
        if reported.cpu_seconds <= reported.most_seconds:
            break
        before = _slowness()
        reported = _run(path, *words)
        reported = replace(reported, slowness=max(before, _slowness()))
    return reported


@functools.cache
def _least_slowness() -> float:
    """How much slower than the reference this machine is even in its best moments."""
    return min(_slowness() for _ in range(3))


def _slowness() -> float:
    with tempfile.TemporaryDirectory(prefix="perfdiag-") as folder:
        nothing = Path(folder, "nothing.rec")
        nothing.write_bytes(Builder().bytes())
        return max(1.0, _run(nothing, "report", str(nothing)).cpu_seconds / START_SECONDS) ** SLOWER_WHEN_LONG


def _run(path: Path, *words: str) -> Reported:
    used = path.with_suffix(".used")
    command = [sys.executable, "-m", "perfdiag", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib"), "LC_ALL": "C.UTF-8"}
    launcher = [sys.executable, "-S", "-c", _LAUNCHER, str(used), *command]
    with path.open("rb") as file:
        done = subprocess.run(launcher, stdin=file, capture_output=True, env=environment, cwd=path.parent)
    status, cpu_seconds, memory_bytes = json.loads(used.read_text())
    return Reported(path.stat().st_size, status, done.stdout, done.stderr.decode(), cpu_seconds, memory_bytes)


__all__ = ["MEMORY_BYTES", "Reported", "measured", "report"]
