"""Does following a process that sleeps wake CPUs that would sleep as well?"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator

from bench import table, tracers
from bench.measure import UNTRACED, Context, added, alternate, median
from bench.processes import running, status
from bench.table import Row
from live.support.workload import WORKLOADS

SECTION = "3. Wake-ups of idle CPUs while a sleeping process is recorded"
SETTLE_SECONDS = 1.5  # until the recorder has read its own statistics and found the target asleep twice
PERFDIAG = "recorded"


def idle_periods(seconds: float) -> float:
    """How often any CPU entered or left an idle state, halved, a second: counted by the kernel's own event."""
    if not tracers.PERF:
        time.sleep(seconds)
        return 0.0
    command = [tracers.PERF, "stat", "-a", "-x,", "-e", "power:cpu_idle", "sleep", str(seconds)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    for line in said.splitlines():
        if "cpu_idle" in line:
            return float(line.split(",")[0]) / 2 / seconds
    raise RuntimeError(f"perf stat: {said.strip()}")


def rows(context: Context) -> Iterator[Row]:
    """Measure the whole host with and without the recorder, and the recorder alone, which is exact."""
    seconds = context.choose(2, 4)
    own: list[float] = []
    with running([WORKLOADS / "sleeper"], stdin=subprocess.PIPE) as target:
        time.sleep(SETTLE_SECONDS)

        def recorded() -> float:
            with tracers.perfdiag([target.pid]) as recorder:
                time.sleep(SETTLE_SECONDS)
                before, begin = status(recorder.process.pid, "voluntary_ctxt_switches"), time.monotonic()
                found = idle_periods(seconds)
                woken = status(recorder.process.pid, "voluntary_ctxt_switches") - before
                own.append(woken / (time.monotonic() - begin))
                return found

        def untraced() -> float:
            return idle_periods(seconds)

        variants: dict[str, Callable[[], float]] = {UNTRACED: untraced, PERFDIAG: recorded}
        found = alternate(variants, context.choose(2, 7), 60)
    if tracers.PERF:
        yield table.of(SECTION, "idle periods of all CPUs, untraced", median(found[UNTRACED]), "per s")
        yield table.of(SECTION, "idle periods added while recorded", added(found, PERFDIAG), "per s")
    else:
        yield Row(SECTION, "idle periods of all CPUs", None, "per s", note="apt-get install linux-perf")
    yield table.of(
        SECTION,
        "wake-ups of the recorder itself",
        median(own),
        "per s",
        note="no interval is taken while no thread of the target runs; the host's counters are read every 5 s",
    )


__all__ = ["rows"]
