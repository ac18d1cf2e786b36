"""What a tracer adds to a switch: a pipe ping-pong pinned to one CPU, the worst case.

One pair of processes plays all the time, tracers come and go.  Its CPU time per round trip is read from /proc, so that
a neighbour that takes the CPU for a moment costs nothing here.  As SCHED_BATCH it does not preempt itself at wake-ups:
otherwise every other switch is left out now and then, and a round trip takes half the time.  A window in which the
pair had less than 95 % of its CPU, or the other CPUs (they may share the core) were busy, counts only when there are
no better ones.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from bench import empty, table, tracers
from bench.measure import UNTRACED, Context, added, alternate, ratio_of_added
from bench.processes import children, cpu_ns, idle_ns, reads, running
from bench.table import Row
from live.support.workload import WORKLOADS

SECTION = "1. Time added to a pipe round trip (two switches), pinned to one CPU"
CPU = 0
WINDOW_SECONDS = 0.03
WINDOWS = 6  # within 250 ms after attaching: then the recorder switches statistics on for an interval
OWN_CPU_SHARE = 0.95
NEIGHBOURS_IDLE_SHARE = 0.8


@dataclass
class Pair:
    """The two processes, and how quiet it was around them."""

    ping: int
    pong: int
    windows: int = 0
    quiet: int = 0

    def state(self) -> tuple[int, int, int, int]:
        """CPU time, round trips, idle time of the other CPUs, clock."""
        idle = sum(idle_ns(cpu) for cpu in os.sched_getaffinity(1) if cpu != CPU)
        used = cpu_ns(self.ping) + cpu_ns(self.pong)
        return used, reads(self.ping), idle, time.monotonic_ns()

    def sample(self) -> float:
        """CPU time per round trip in ns: the median of the quiet windows, or of all if there are none."""
        quiet, every = [], []
        neighbours = max(1, len(os.sched_getaffinity(1)) - 1)
        for _ in range(WINDOWS):
            before = self.state()
            time.sleep(WINDOW_SECONDS)
            used, trips, idle, wall = (now - then for now, then in zip(self.state(), before, strict=True))
            per_trip = used / max(1, trips)
            every.append(per_trip)
            if used >= OWN_CPU_SHARE * wall and idle >= NEIGHBOURS_IDLE_SHARE * neighbours * wall - 10_000_000:
                quiet.append(per_trip)
        self.windows += WINDOWS
        self.quiet += len(quiet)
        return statistics.median(quiet or every)

    def under(self, tracer: Callable[[], AbstractContextManager[object]]) -> Callable[[], float]:
        """A variant: attach, measure, detach."""

        def variant() -> float:
            with tracer():
                time.sleep(WINDOW_SECONDS)
                return self.sample()

        return variant


@contextlib.contextmanager
def pair() -> Iterator[Pair]:
    """A ping-pong that is played as long as the block lasts, preferred over its neighbours."""
    command = ["nice", "-n", "-20", "chrt", "--batch", "0", WORKLOADS / "pingpong", "--cpu", CPU, "--count", 10**12]
    with running(command) as process:
        while not (others := children(process.pid)):
            time.sleep(0.01)
        yield Pair(process.pid, others[0])


def rows(context: Context) -> Iterator[Row]:
    """Measure: untraced, programs that do next to nothing, the recorder; then it against tools that do less."""
    nothing = empty.Empty(context.scratch)
    clock = empty.Empty(context.scratch, "clock", empty.READ_CLOCK)
    with pair() as players:
        both = [players.ping, players.pong]
        variants = {
            UNTRACED: players.under(nullcontext),
            "empty programs": players.under(nothing.attached),
            "clock": players.under(clock.attached),
            "perfdiag": players.under(lambda: tracers.perfdiag(both)),
        }
        found = alternate(variants, context.choose(7, 41), context.choose(9, 80))
        quiet = players.quiet / players.windows
        note = f"{len(found[UNTRACED])} rounds, {quiet:.0%} of the windows quiet"
        yield table.of(
            SECTION,
            "untraced round trip",
            added({"a": found[UNTRACED], "0": [0.0] * len(found[UNTRACED])}, "a", "0"),
            "ns",
            note=note,
        )
        yield table.of(
            SECTION,
            f"added by empty programs on the same {len(empty.hooks())} hooks",
            added(found, "empty programs"),
            "ns",
        )
        yield table.of(
            SECTION,
            "added by programs that only read the clock",
            added(found, "clock"),
            "ns",
            note="what any ledger pays: a switch or a wake-up without its time cannot be booked",
        )
        yield table.of(SECTION, "added by perfdiag", added(found, "perfdiag"), "ns")
        yield table.of(
            SECTION, "reading the clock / empty programs", ratio_of_added(found, "clock", "empty programs"), "x"
        )
        yield table.of(
            SECTION, "perfdiag / empty programs", ratio_of_added(found, "perfdiag", "empty programs"), "x", limit=2.0
        )
        yield from against_tools(context, players)


def against_tools(context: Context, players: Pair) -> Iterator[Row]:
    """Two more experiments: each tool follows the same processes as perfdiag does there."""
    both = [players.ping, players.pong]
    experiments = {
        "offcputime -p (one process)": (
            lambda: tracers.offcputime(players.ping),
            lambda: tracers.perfdiag([players.ping], only=True),
        ),
        "perf trace -s -p (both processes)": (
            lambda: tracers.perf_trace(both),
            lambda: tracers.perfdiag(both),
        ),
    }
    for name, (tool, perfdiag) in experiments.items():
        variants = {
            UNTRACED: players.under(nullcontext),
            "tool": players.under(tool),
            "perfdiag": players.under(perfdiag),
        }
        try:
            found = alternate(variants, context.choose(3, 9), context.choose(4, 40))
        except empty.Missing as missing:
            yield Row(SECTION, f"perfdiag / {name}", None, "x", limit=0.5, note=str(missing))
            continue
        yield table.of(
            SECTION,
            f"added by {name}",
            added(found, "tool"),
            "ns",
            note=f"perfdiag on the same: {table.number(added(found, 'perfdiag').value)} ns, "
            f"{len(found['tool'])} rounds",
        )
        yield table.of(SECTION, f"perfdiag / {name}", ratio_of_added(found, "perfdiag", "tool"), "x", limit=0.5)


__all__ = ["pair", "rows"]
