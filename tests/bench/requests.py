"""What it costs a server to have its requests followed: nginx under wrk, one CPU each, as many requests as go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import table, tracers
from bench.empty import Empty
from bench.measure import UNTRACED, Context, Rounds, alternate, median, ratio
from bench.nginx import CONNECTIONS, Nginx, nginx
from bench.processes import cpu_ns
from bench.table import Row
from live.support.recorder import Recorder

SECTION = "9. Requests of nginx while it is recorded"
SETTLE_SECONDS = 0.6  # the recorder has read its own statistics by then
WINDOW_SECONDS = 2
BUDGET_PERCENT = 5
RECORDED, EMPTY, WITHIN = "recorded", "empty programs", f"--max-cost {BUDGET_PERCENT}%"
THINNED_SECONDS = 3  # what is given up for that is by then


def rows(context: Context) -> Iterator[Row]:
    """Throughput and p99 beside doing nothing and beside empty programs; then what each program takes."""
    with nginx(context.scratch) as server:
        server.ask(WINDOW_SECONDS)  # files in the cache, sockets known
        yield from _throughput(context, server)
        yield from _programs(context.scratch, server)


def _throughput(context: Context, server: Nginx) -> Iterator[Row]:
    p99_s: Rounds = {UNTRACED: [], EMPTY: [], RECORDED: [], WITHIN: []}
    each_ns: Rounds = {UNTRACED: [], EMPTY: [], RECORDED: [], WITHIN: []}
    empty = Empty(context.scratch)

    def window(name: str) -> float:
        time.sleep(SETTLE_SECONDS)
        used_ns = cpu_ns(server.pid)
        load = server.ask(WINDOW_SECONDS)
        p99_s[name].append(load.p99_s)
        each_ns[name].append((cpu_ns(server.pid) - used_ns) / (load.per_second * WINDOW_SECONDS))
        return load.per_second

    def with_empty() -> float:
        with empty.attached():
            return window(EMPTY)

    def recorded() -> float:
        with tracers.perfdiag([server.pid]):
            return window(RECORDED)

    def within() -> float:
        with tracers.perfdiag([server.pid], max_cost_percent=BUDGET_PERCENT):
            server.ask(THINNED_SECONDS)
            return window(WITHIN)

    variants: dict[str, Callable[[], float]] = {
        UNTRACED: lambda: window(UNTRACED),
        EMPTY: with_empty,
        RECORDED: recorded,
        WITHIN: within,
    }
    found = alternate(variants, context.choose(3, 15), 300)
    note = f"{len(found[RECORDED])} rounds, {CONNECTIONS} connections"
    yield table.of(SECTION, "requests, untraced", median(found[UNTRACED]), "per s", note=note)
    yield table.of(SECTION, "requests, empty programs / untraced", ratio(found, EMPTY, UNTRACED), "x")
    goal = {"limit": 0.97, "floor": True}
    yield table.of(SECTION, "requests, recorded / untraced", ratio(found, RECORDED, UNTRACED), "x", **goal)
    for name in (RECORDED, WITHIN):  # also where neighbours take CPUs from nginx, or wrk
        what = f"CPU time of a request, {name} / untraced"
        yield table.of(SECTION, what, ratio(each_ns, name, UNTRACED), "x")
    yield table.of(SECTION, "p99, recorded / untraced", ratio(p99_s, RECORDED, UNTRACED), "x", limit=1.05)


def _programs(scratch: Path, server: Nginx) -> Iterator[Row]:
    """By the kernel's own statistics, whose reading is part of each figure; without those that cost next to nothing."""
    with Recorder([server.pid], scratch / "programs") as recorder:
        load = server.ask(WINDOW_SECONDS)
        programs = recorder.stop().footer.cost.programs
    requests = load.per_second * WINDOW_SECONDS
    for program in sorted(programs, key=lambda each: -(each.ns or 0)):
        if program.ns and program.runs and program.ns / requests >= 10:
            note = f"{program.runs / requests:.2f} runs of {program.ns / program.runs:.0f} ns"
            yield Row(SECTION, f"{program.name}, of a request", program.ns / requests, "ns", note=note)


__all__ = ["rows"]
