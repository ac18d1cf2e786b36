"""What the load of a case has seen, in the window of its recording."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from bench.processes import PATIENCE_SECONDS
from live.support.recording import Recording

LOG = "requests.log"  # in the folder of the case: of every request when it was due, what it took, and its service


def ended(load: subprocess.Popen[bytes], folder: Path, recording: Path) -> dict[str, float]:
    """Interrupt the load, which must not have ended, and return what it has printed, with percentiles of the window.

    Raises AssertionError where the load says that answers were wrong, or nothing that can be understood.
    """
    assert load.poll() is None, f"the load had ended with status {load.returncode} before the recording did"
    load.send_signal(signal.SIGINT)
    said, _ = load.communicate(timeout=PATIENCE_SECONDS)
    assert load.returncode == 0, f"the load ended with status {load.returncode}"
    lines = said.decode(errors="replace").strip().splitlines()
    truth = json.loads(lines[-1]) if lines else {}
    assert not truth.get("errors"), f"{truth['errors']} answers were wrong"
    if (folder / LOG).exists():
        truth |= within(folder / LOG, recording)
    return {name: float(value) for name, value in truth.items() if isinstance(value, int | float)}


def within(log: Path, path: Path) -> dict[str, float]:
    """Return the percentiles of all requests that were due in the window of a recording."""
    recording = Recording(path)
    begin_ns = recording.header.realtime_ns
    end_ns = begin_ns + recording.footer.at_ns - recording.header.start_ns
    every = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    inside = [row for row in every if begin_ns <= row[0] < end_ns]
    waited, served = (sorted(row[column] for row in inside) for column in (1, 2))
    assert inside, "nothing was asked while it was recorded"
    truth = {"requests": float(len(inside))}
    for prefix, values in (("", waited), ("served_", served)):
        truth |= {f"{prefix}p{percent}_ns": float(values[(len(values) - 1) * percent // 100]) for percent in (50, 99)}
    return truth


__all__ = ["LOG", "ended", "within"]
