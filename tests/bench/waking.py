"""What the idle probe costs per wake-up of an idle CPU: its two runs against those of an empty program there."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from bench import table, tracers
from bench.measure import Context, Rounds, alternate, median, ratio
from bench.processes import running
from bench.table import Row
from live.support.recorder import Recorder
from live.support.workload import WORKLOADS

SECTION = "8. Cost of the idle probe per wake-up of an idle CPU"
HOOK = "cpu_idle"
RUNS = 2  # into the state and out of it
PAUSE_US = 200
WINDOW_SECONDS = 0.8  # the recorder reads the kernel's statistics in its second interval
INTERVAL_MS = 250
BUSY = "no CPU was idle meanwhile: the host is too busy"


def rows(context: Context) -> Iterator[Row]:
    """Both by the kernel's own statistics, whose reading is part of either figure, in turns."""
    empty = tracers.Empty(context.scratch)

    def nothing() -> float:
        costs = empty.cost_ns(INTERVAL_MS / 1000)
        if HOOK not in costs:
            raise tracers.Missing(BUSY)
        return RUNS * costs[HOOK]

    command = [WORKLOADS / "wake", "--every-us", PAUSE_US, "--count", 10**9]
    with running(command) as target:

        def recorded() -> float:
            path = context.scratch / "waking"
            with Recorder([target.pid], path, interval_ms=INTERVAL_MS) as recorder:
                time.sleep(WINDOW_SECONDS)
                costs = {program.name: program for program in recorder.stop().footer.cost.programs}
            cost = costs[HOOK]
            if cost.ns is None or not cost.runs:
                raise tracers.Missing(BUSY)
            return RUNS * cost.ns / cost.runs

        found: Rounds = alternate({"empty": nothing, "perfdiag": recorded}, context.choose(5, 31), 60)
    one = statistics.median(found["empty"]) / RUNS
    note = f"{len(found['empty'])} rounds; one run of the empty program reads {one:.0f} ns"
    yield table.of(SECTION, "empty program", median(found["empty"]), "ns", note=note)
    yield table.of(SECTION, "idle probe", median(found["perfdiag"]), "ns")
    yield table.of(SECTION, "idle probe / empty program", ratio(found, "perfdiag", "empty"), "x")


__all__ = ["rows"]
