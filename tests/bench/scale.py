"""How a recording grows with its length and its threads, and how long it takes to report it.

Real recordings of three lengths, taken at the same time of the same process, show bytes per second.  An hour is not
waited for: short recordings are stretched to it by the recorder's own rules (stretch.py), and reported for real.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Context, median
from bench.memory import threads
from bench.processes import running
from bench.start import PERFDIAG
from bench.stretch import Template
from bench.table import Row, of
from live.support.recorder import RECORDER
from live.support.workload import PATIENCE_SECONDS

SECTION = "6. An hour of recording, by threads"
MB = 1e6
PERIOD_MS = 500


def real(context: Context, count: int, lengths: list[int]) -> dict[int, Path]:
    """Record `count` threads for each of `lengths` seconds at once; returns the recordings."""
    paths = {seconds: context.scratch / f"real-{count}-{seconds}" for seconds in lengths}
    with threads(count, PERIOD_MS) as pid, contextlib.ExitStack() as stack:
        recorders = []
        for seconds, path in paths.items():
            stdout = stack.enter_context(path.open("wb"))
            command = [RECORDER, "--pid", pid, "--duration", seconds]
            recorders.append(stack.enter_context(running(command, stdout=stdout)))
        for recorder in recorders:
            recorder.wait(max(lengths) + PATIENCE_SECONDS)
    return paths


def report_seconds(path: Path, rounds: int) -> list[float]:
    """How long `perfdiag report` takes, each time."""
    found = []
    for _ in range(rounds):
        begin = time.monotonic()
        subprocess.run([PERFDIAG, "report", path], check=True, capture_output=True)
        found.append(time.monotonic() - begin)
    return found


def rows(context: Context) -> Iterator[Row]:
    """Measure three lengths, then three sizes."""
    most = 300
    lengths = [6, 7, 8] if context.quick else [12, 24, 36]
    recordings = real(context, most, lengths)
    sizes = {seconds: path.stat().st_size for seconds, path in recordings.items()}
    for seconds, size in sizes.items():
        yield Row(SECTION, f"real: {most:,} threads, {seconds} s", size / MB, "MB")
    first, last = lengths[0], lengths[-1]
    rate = (sizes[last] - sizes[first]) / (last - first)
    yield Row(
        SECTION,
        f"real: growth between {first} and {last} s",
        rate / 1e3,
        "kB/s",
        note=f"3,600 s at this rate, ends included: {(rate * (3600 - last) + sizes[last]) / MB:.0f} MB",
    )
    for count in (most,) if context.quick else (100, 300, 1000):
        template = recordings[last] if count == most else real(context, count, [context.choose(6, 12)]).popitem()[1]
        yield from one_hour(context, count, template)


def one_hour(context: Context, count: int, recording: Path) -> Iterator[Row]:
    """Stretch a recording to an hour and report it."""
    path = context.scratch / f"hour-{count}"
    with path.open("wb") as file:
        file.writelines(Template(recording).hour())
    size = path.stat().st_size / MB
    goal = count == 1000
    yield Row(SECTION, f"stretched: {count:,} threads, 1 hour", size, "MB", limit=100.0 if goal else None)
    seconds = median(report_seconds(path, context.choose(1, 5)))
    yield of(
        SECTION,
        "perfdiag report of it",
        seconds,
        "s",
        limit=2.0 if goal else None,
        note=f"{seconds.value / size * 1e3:.0f} ms a MB",
    )
    path.unlink()


__all__ = ["rows"]
