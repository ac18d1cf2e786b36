"""How much work a database loses while it is recorded: SQLite on a local file, PostgreSQL under pgbench.

One database works all the time and is recorded every other window.  A window begins half a second after attaching,
when the recorder has read its own statistics (a quarter second of every recording, however long that is).

A shared disk takes a third longer now and then, whoever looks; hence beside the throughput the time of a transaction
that a quarter of its window's transactions beat: it moves with what tracing adds, hardly with the disk's bad moments.
"""

from __future__ import annotations

import mmap
import os
import select
import shutil
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench import table, tracers
from bench.measure import UNTRACED, Context, Rounds, alternate, median, ratio
from bench.postgres import Cluster
from bench.processes import running
from bench.table import Row
from live.support.recorder import Recorder

SECTION = "2. Throughput of databases while they are recorded"
SETTLE_SECONDS = 0.6
WINDOW_SECONDS = 1.0
OWN_TIME_SECONDS = 2
PERFDIAG = "recorded"
REMEMBERED = 1 << 16  # transactions: more than a window has

# Runs as its own process: inserts rows, one transaction each; counts them and keeps their times in a shared file.
INSERTER = """
import mmap, os, sqlite3, struct, sys, time
remembered = int(sys.argv[3])
shared = mmap.mmap(os.open(sys.argv[2], os.O_RDWR), 8 + 8 * remembered)
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("create table t (id integer primary key, text text)")
for number in range(1 << 60):
    begin = time.monotonic_ns()
    database.execute("insert into t (text) values (?)", ("x" * 100,))
    struct.pack_into("q", shared, 8 + 8 * (number % remembered), time.monotonic_ns() - begin)
    struct.pack_into("q", shared, 0, number + 1)
"""


@dataclass
class Windows:
    """What the windows of a database told, by variant."""

    pid: int
    transactions: Callable[[], tuple[float, Sequence[float]]]  # of one window: per second, and their times
    quartiles: Rounds = field(default_factory=lambda: {UNTRACED: [], PERFDIAG: []})

    def untraced(self) -> float:
        """One window that nobody looks at."""
        time.sleep(SETTLE_SECONDS)
        return self._window(UNTRACED)

    def recorded(self) -> float:
        """One window while the recorder follows the database."""
        with tracers.perfdiag([self.pid]):
            time.sleep(SETTLE_SECONDS)
            return self._window(PERFDIAG)

    def _window(self, name: str) -> float:
        per_second, times = self.transactions()
        self.quartiles[name].append(statistics.quantiles(times, n=4)[0])
        return per_second

    def rows(self, name: str, rounds: int, seconds: float) -> Iterator[Row]:
        """Let both variants take turns: how fast, and how much of it is left."""
        found = alternate({UNTRACED: self.untraced, PERFDIAG: self.recorded}, rounds, seconds)
        yield table.of(SECTION, f"{name}, untraced", median(found[UNTRACED]), "per s")
        goal = {"limit": 0.99, "floor": True, "note": f"{len(found[PERFDIAG])} rounds"}
        yield table.of(SECTION, f"{name}, recorded / untraced", ratio(found, PERFDIAG, UNTRACED), "x", **goal)
        faster = ratio(self.quartiles, UNTRACED, PERFDIAG)
        yield table.of(SECTION, f"{name}, by the time of a fast transaction", faster, "x", **goal)


def own_time(context: Context, name: str, pid: int) -> Row:
    """Where throughput is too restless to show a percent: the time all programs took, whoever they ran for."""
    with Recorder([pid], context.scratch / "own-time") as recorder:
        time.sleep(OWN_TIME_SECONDS)
        footer = recorder.stop().footer
    costs = [program.ns for program in footer.cost.programs]
    if not costs or None in costs:
        return Row(SECTION, f"{name}, time in BPF programs", None, "% of 1 CPU", note="the kernel keeps no statistics")
    taken = sum(filter(None, costs)) / 1e9 / OWN_TIME_SECONDS
    return Row(
        SECTION,
        f"{name}, time in BPF programs",
        100 * taken,
        "% of 1 CPU",
        note="on all CPUs together, measuring them included: it cannot lose more than this",
    )


def sqlite(context: Context) -> Iterator[Row]:
    """Insert transactions of one process on a local file, rollback journal, synchronous."""
    path = context.scratch / "transactions"
    path.write_bytes(bytes(8 + 8 * REMEMBERED))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        command = [sys.executable, "-c", INSERTER, context.scratch / "sqlite.db", path, REMEMBERED]
        with running(command) as process:

            def window() -> tuple[float, Sequence[float]]:
                begin, first = time.monotonic(), struct.unpack_from("q", shared)[0]
                time.sleep(WINDOW_SECONDS)
                last, seconds = struct.unpack_from("q", shared)[0], time.monotonic() - begin
                times = [struct.unpack_from("q", shared, 8 + 8 * (n % REMEMBERED))[0] for n in range(first, last)]
                return (last - first) / seconds, times

            time.sleep(SETTLE_SECONDS)
            yield from Windows(process.pid, window).rows("SQLite inserts", context.choose(3, 25), 100)
            yield own_time(context, "SQLite inserts", process.pid)


def postgres(context: Context) -> Iterator[Row]:
    """pgbench, its read-write script, four clients, against a throw-away cluster on a unix socket."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(context.scratch))
        prefix = context.scratch / "pgbench"
        bench = stack.enter_context(cluster.pgbench(prefix))
        lines = bench.stderr
        assert lines

        def progress() -> float:
            while True:
                ready, _, _ = select.select([lines], [], [], 10)
                line = lines.readline().decode() if ready else ""
                if not line:
                    raise RuntimeError("pgbench has ended")
                if line.startswith("progress:"):
                    return float(line.split()[3])

        def window() -> tuple[float, Sequence[float]]:
            drain(lines.fileno())
            progress()  # the second that had begun before
            log.seek(0, os.SEEK_END)
            per_second = progress()
            lines_of_second = log.read().splitlines()[1:-1]  # the first and the last may be written in part
            return per_second, [float(line.split()[2]) for line in lines_of_second]

        progress()
        log = stack.enter_context(Path(f"{prefix}.{bench.pid}").open())
        yield from Windows(cluster.pid, window).rows("PostgreSQL, pgbench read-write", context.choose(3, 20), 120)
        yield own_time(context, "PostgreSQL, pgbench read-write", cluster.pid)


def drain(descriptor: int) -> None:
    """Forget the lines that were written meanwhile."""
    while select.select([descriptor], [], [], 0)[0] and os.read(descriptor, 65536):
        pass


def rows(context: Context) -> Iterator[Row]:
    """Measure both databases, if they are there."""
    yield from sqlite(context)
    if not shutil.which("pgbench"):
        yield Row(SECTION, "PostgreSQL, pgbench", None, "x", limit=0.99, floor=True, note="apt-get install postgresql")
        return
    yield from postgres(context)


__all__ = ["rows"]
