"""How much work a recognised application loses while it is recorded: statements of MariaDB, allocation in Java.

Statements are sent as text, so that each has a digest made; sysbench sends as many as the server can answer, and then
10,000 a second.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO

from bench import table, tracers
from bench.measure import UNTRACED, Context, Rounds, added, alternate, median, ratio
from bench.processes import cpu_ns, running
from bench.table import Row
from live.support.java import Compiled
from live.support.mariadb import MariaStatements

SECTION = "10. Throughput of applications that are recognised while they are recorded"
SETTLE_SECONDS = 0.6
PERFDIAG, WITHOUT = "recorded", "recorded with --no-apps"
RATE = 10_000
THREADS = 4
_PROGRESS = re.compile(rb"\[ \d+s \] .* qps: ([0-9.]+) ")
GOAL = {"limit": 0.97, "floor": True}


def rows(context: Context) -> Iterator[Row]:
    """Measure both."""
    yield from mariadb(context)
    yield from java(context)


def recording(name: str, pid: int) -> AbstractContextManager[object]:
    """Return what is done meanwhile in a variant."""
    return nullcontext() if name == UNTRACED else tracers.perfdiag([pid], apps=name == PERFDIAG)


def rates(stream: IO[bytes], pattern: re.Pattern[bytes]) -> Callable[[], float]:
    """Return what waits for a whole second of a program that tells its rate each second."""

    def next_one() -> float:
        while line := stream.readline():
            if match := pattern.search(line):
                return float(match[1])
        raise RuntimeError("the load has ended")

    def of_a_second() -> float:
        while select.select([stream], [], [], 0)[0] and os.read(stream.fileno(), 65536):
            pass
        next_one()  # it had begun before
        return next_one()

    return of_a_second


def measured(pid: int, rate: Callable[[], float], rounds: int) -> tuple[Rounds, Rounds]:
    """Return by variant the rates, and the CPU time of the server for one unit of work, in ns."""
    each_ns: Rounds = {UNTRACED: [], PERFDIAG: [], WITHOUT: []}

    def variant(name: str) -> Callable[[], float]:
        def window() -> float:
            with recording(name, pid):
                time.sleep(SETTLE_SECONDS)
                before, begin = cpu_ns(pid), time.monotonic()
                per_second = rate()
                each_ns[name].append((cpu_ns(pid) - before) / (time.monotonic() - begin) / per_second)
                return per_second

        return window

    return alternate({name: variant(name) for name in each_ns}, rounds, 30 * rounds), each_ns


def told(name: str, found: Rounds, each_ns: Rounds, what: str) -> Iterator[Row]:
    """Yield how fast it is, how much of that is left, and what a unit of work costs more."""
    note = f"{len(found[PERFDIAG])} rounds"
    yield table.of(SECTION, f"{name}, untraced", median(found[UNTRACED]), "per s")
    for variant in (PERFDIAG, WITHOUT):
        left = ratio(found, variant, UNTRACED)
        yield table.of(SECTION, f"{name}, {variant} / untraced", left, "x", note=note, **GOAL)
        more = added(each_ns, variant)
        yield table.of(SECTION, f"{name}, {variant}: CPU time for {what}, added", more, "ns", note=note)
    yield table.of(SECTION, f"{name}: CPU time for {what}, untraced", median(each_ns[UNTRACED]), "ns")


def mariadb(context: Context) -> Iterator[Row]:
    """Look up rows by their keys, each by a statement of its own."""
    with MariaStatements("CREATE DATABASE bench", 1) as server:
        server.ask()
        words = ["sysbench", "oltp_point_select", f"--mysql-socket={server.socket}", "--mysql-user=root"]
        words += ["--mysql-db=bench", "--db-ps-mode=disable", f"--threads={THREADS}", "--report-interval=1", "--time=0"]
        subprocess.run([*words, "prepare"], check=True, capture_output=True)
        for name, rate in (("as many as it can", 0), (f"{RATE:,} a second", RATE)):
            with running([*words, f"--rate={rate}", "run"], stdout=subprocess.PIPE, bufsize=0) as load:
                assert load.stdout
                found = measured(server.pid, rates(load.stdout, _PROGRESS), context.choose(3, 15))
                yield from told(f"MariaDB, sysbench, {name}", *found, "a statement")


def java(context: Context) -> Iterator[Row]:
    """Let threads of a JVM allocate."""
    with Compiled("Allocates", 2, options=("-XX:+UseSerialGC", "-Xmx256m")) as machine:
        machine.start()
        assert machine.process.stdout

        def rate() -> float:
            machine.line()
            return float(machine.line()["per_second"])

        found = measured(machine.pid, rate, context.choose(3, 15))
        yield from told("Java, 2 threads that allocate 200 bytes each time", *found, "an object")


__all__ = ["rows"]
