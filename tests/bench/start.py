"""How long until the window begins, and how long after it ends the report is there."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench import table
from bench.measure import Context, median
from bench.processes import running
from bench.table import Row
from live.support.recorder import RECORDER, Recorder
from live.support.workload import ROOT

SECTION = "4. Start and end"
PERFDIAG = ROOT / "build" / "bin" / "perfdiag"
MS = 1e3


def directly(pid: int) -> float:
    """Milliseconds from the recorder's start until it says "attached"."""
    begin = time.monotonic()
    with running([RECORDER, "--pid", pid], stderr=subprocess.PIPE) as process:
        assert process.stderr
        while b"attached" not in (line := process.stderr.readline()):
            if not line:
                raise RuntimeError("the recorder ended before it attached")
        return (time.monotonic() - begin) * MS


class Timed(Recorder):
    """A recorder that notes when it was told to start and when it had attached."""

    def __init__(self, pid: int, output: Path) -> None:
        self.started = self.attached = 0.0
        super().__init__([pid], output)

    def tell(self, *lines: str) -> None:
        self.started = time.monotonic()
        super().tell(*lines)

    def expect(self, word: str) -> str:
        rest = super().expect(word)
        self.attached = time.monotonic()
        return rest


def on_standby(pid: int, scratch: Path) -> float:
    """Milliseconds from "start" until "attached", for a recorder that has loaded its programs already."""
    recorder = Timed(pid, scratch / "standby")
    with recorder:
        return (recorder.attached - recorder.started) * MS


def whole(pid: int) -> float:
    """Seconds that `perfdiag latency --duration 1` needs beyond its window."""
    begin = time.monotonic()
    subprocess.run([PERFDIAG, "latency", "--pid", str(pid), "--duration", "1"], check=True, capture_output=True)
    return time.monotonic() - begin - 1


def rows(context: Context) -> Iterator[Row]:
    """Measure on a process that sleeps."""
    rounds = context.choose(5, 21)
    with running(["sleep", "600"]) as target:
        directly(target.pid)
        yield table.of(
            SECTION,
            "recorder started until attached",
            median([directly(target.pid) for _ in range(rounds)]),
            "ms",
            limit=100.0,
        )
        yield table.of(
            SECTION,
            "on standby: told to start until attached",
            median([on_standby(target.pid, context.scratch) for _ in range(rounds)]),
            "ms",
        )
        yield table.of(
            SECTION,
            "perfdiag latency --duration 1, beyond its window",
            median([whole(target.pid) for _ in range(context.choose(3, 7))]),
            "s",
            limit=1.0,
        )


__all__ = ["rows"]
