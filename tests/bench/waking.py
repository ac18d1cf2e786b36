"""What the idle probe costs per wake-up of an idle CPU: its two runs against those of an empty program there."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from bench import table
from bench.empty import Cost, Empty, Missing
from bench.measure import Context, Rounds, alternate, median, ratio
from bench.processes import running
from bench.table import Row
from live.support.recorder import Recorder
from live.support.workload import WORKLOADS

SECTION = "8. Cost of the idle probe per wake-up of an idle CPU"
PROGRAM = "cpu_idle"
RUNS = 2  # into the state and out of it
PAUSE_US = 200
WINDOW_SECONDS = 0.8  # the recorder reads the kernel's statistics in its second interval
INTERVAL_MS = 250
NEVER_IDLE = "no CPU of this host was idle meanwhile: on a quieter one, or in the lab: make bench ARGS=guest"


def rows(context: Context) -> Iterator[Row]:
    """Both by the kernel's own statistics, whose reading is part of either figure, in turns."""
    empty = Empty(context.scratch)

    def nothing() -> float:
        return wake_up_ns(empty.costs(INTERVAL_MS / 1000).get(PROGRAM))

    command = [WORKLOADS / "wake", "--every-us", PAUSE_US, "--count", 10**9]
    with running(command) as target:

        def recorded() -> float:
            path = context.scratch / "waking"
            with Recorder([target.pid], path, interval_ms=INTERVAL_MS) as recorder:
                time.sleep(WINDOW_SECONDS)
                costs = {program.name: program for program in recorder.stop().footer.cost.programs}
            cost = costs[PROGRAM]
            return wake_up_ns(Cost(cost.runs or 0, cost.ns or 0))

        try:
            found: Rounds = alternate({"empty": nothing, "perfdiag": recorded}, context.choose(5, 31), 60)
        except Missing as missing:
            yield Row(SECTION, "idle probe / empty program", None, "x", note=str(missing))
            return
    one = statistics.median(found["empty"]) / RUNS
    note = f"{len(found['empty'])} rounds; one run of the empty program reads {one:.0f} ns"
    yield table.of(SECTION, "empty program", median(found["empty"]), "ns", note=note)
    yield table.of(SECTION, "idle probe", median(found["perfdiag"]), "ns")
    yield table.of(SECTION, "idle probe / empty program", ratio(found, "perfdiag", "empty"), "x")


def wake_up_ns(cost: Cost | None) -> float:
    """Return what a program reads for one wake-up.  Raises Missing where it did not run."""
    if not cost or not cost.runs:
        raise Missing(NEVER_IDLE)
    return RUNS * cost.each_ns


__all__ = ["rows"]
