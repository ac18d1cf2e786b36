"""What each script of tools/ and dtrace/ costs: how long until it traces, its memory, what it adds to its worst load.

Scripts for what few hosts have, and those for DTrace, are measured in an emulated guest, where instructions count: see
tools_guest.
Each script's figures are also left in tools/NAME.json of the output; `make tool-overhead` puts them into its header.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfdiag.documents import script_header

from bench.measure import UNTRACED, Context, Rounds, added, alternate, median, ratio
from bench.processes import status
from bench.table import Row
from bench.tools_cost import Cost
from bench.tools_dtrace import DTRACE_LOADS
from bench.tools_guest import BPFTRACE, DTRACE, GUEST_LOADS, measure_in_guest
from live.support import bcc
from live.support.bpftrace import Script
from live.support.java import Java
from live.support.mariadb import MariaStatements
from live.support.postgres import Statements
from live.support.workload import ROOT, Workload

SECTION = "11. Scripts of tools/ and dtrace/"
MEASURED = ROOT / "tests" / "data" / "tools"
TRACED = "traced"
SECONDS = 300


@dataclass(frozen=True)
class Load:
    """The load that a script slows down most: what it does `count` times, as a workload whose last word is that."""

    what: str
    words: tuple[str, ...]
    count: int
    start: Callable[..., Any] = Workload


# On one CPU: what its threads wait for each other there differs less from run to run.
OneCpuJava = functools.partial(Java, run_by=("taskset", "--cpu-list", "0"))

# Of scripts for bpftrace the name without its end. {} is a folder in memory.
LOADS = {
    "dirtythrottle": Load("round trip between two processes on a CPU", ("pingpong", "--cpu", "0", "--count"), 50_000),
    "fdlimit": Load("open(2) that is refused", ("fd_leak", "--limit", "16", "--pause-us", "0", "--attempts"), 200_000),
    "flushlat": Load(
        "fdatasync(2) of a file in memory", ("flush", "--file", "{}/data", "--append", "0", "--count"), 50_000
    ),
    "jvmgc": Load("stop of all threads of a Java program", ("Stops",), 40_000, OneCpuJava),
    "metaspace": Load("class that is loaded", ("Classes",), 20_000, OneCpuJava),
    "pgcache": Load(
        "pread(2) of 4 KiB that are in memory",
        ("read", "--mode", "buffered", "--file", "/proc/self/exe", "--count"),
        200_000,
    ),
    "ledger": Load("round trip between two processes on a CPU", ("pingpong", "--cpu", "0", "--count"), 50_000),
    "ledger.py": Load("round trip between two processes on a CPU", ("pingpong", "--cpu", "0", "--count"), 50_000),
    "runqlat": Load("round trip between two processes on a CPU", ("pingpong", "--cpu", "0", "--count"), 50_000),
    "sqlq": Load("statement that does nothing", ("SELECT 1",), 20_000, Statements),
    "sqlq.py": Load("statement that does nothing", ("SELECT 1",), 20_000, Statements),
    "sqlqmaria": Load("statement that does nothing", ("DO NULL",), 20_000, MariaStatements),
    "tcpwindow": Load(
        "round trip over TCP between two processes on a CPU",
        ("pingpong", "--mode", "tcp", "--cpu", "0", "--count"),
        20_000,
    ),
    "wakerchain.py": Load("round trip between two processes on a CPU", ("pingpong", "--cpu", "0", "--count"), 50_000),
    "wakerchain": Load("round trip between two processes on a CPU", ("pingpong", "--cpu", "0", "--count"), 50_000),
}

KINDS: dict[str, type[Script | bcc.Program]] = {"ledger.py": bcc.RecordingProgram}


def rows(context: Context) -> Iterator[Row]:
    """Measure every script of tools/ that has a load here, or those that the variable TOOLS names."""
    yield from rows_of(context, [*LOADS, *GUEST_LOADS])


def rows_for_dtrace(context: Context) -> Iterator[Row]:
    """Measure every script of dtrace/ that was run, or those that the variable TOOLS names."""
    yield from rows_of(context, DTRACE_LOADS)


def rows_of(context: Context, names: Iterable[str]) -> Iterator[Row]:
    """Measure scripts, or those that the variable TOOLS names instead."""
    for name in os.environ.get("TOOLS", "").split() or sorted(names):
        if name in DTRACE_LOADS:
            cost = measure_in_guest(context, DTRACE, name.removesuffix(".d"), DTRACE_LOADS[name])
        elif name in GUEST_LOADS:
            cost = measure_in_guest(context, BPFTRACE, name, GUEST_LOADS[name])
        else:
            cost = measure(context, name)
        called = file_of(name).name
        yield Row(SECTION, f"{called}: started until it traces", cost.start_s, "s")
        yield Row(SECTION, f"{called}: memory, at most", cost.peak_mebibytes, "MiB")
        yield Row(SECTION, f"{called}: added to each {cost.what}", *cost.added)
        spread = (cost.ratio, "x", cost.ratio_low, cost.ratio_high)
        yield Row(SECTION, f"{called}: the same, traced / untraced", *spread)
        folder = context.output / "tools"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(dataclasses.asdict(cost), indent=1) + "\n")


def file_of(name: str) -> Path:
    """Return the file of a script that has a load here."""
    folder = ROOT / ("dtrace" if name.endswith(".d") else "tools")
    return folder / (name if name.endswith((".d", ".py")) else f"{name}.bt")


def measure(context: Context, name: str) -> Cost:
    """Let the load run beside the script and without it in turn; starts and memory are those of all rounds."""
    starts: list[float] = []
    peaks: list[float] = []
    load = LOADS[name]
    kind = KINDS.get(name) or (bcc.Program if name.endswith(".py") else Script)

    def run(memory: str, *, traced: bool) -> float:
        words = [word.format(memory) for word in load.words]
        with load.start(*words, load.count) as workload, contextlib.ExitStack() as stack:
            begin = time.monotonic()
            script = stack.enter_context(kind(name, workload.pid)) if traced else None
            starts.extend([time.monotonic() - begin] if traced else [])
            elapsed_ns = workload.run()["elapsed_ns"]
            if script:
                peaks.append(status(script.process.pid, "VmHWM") / 1024)
                script.stop()
            return float(elapsed_ns)

    with tempfile.TemporaryDirectory(prefix="perfdiag-bench-", dir="/dev/shm") as memory:
        variants = {UNTRACED: lambda: run(memory, traced=False), TRACED: lambda: run(memory, traced=True)}
        found: Rounds = alternate(variants, context.choose(5, 15), SECONDS)
    asked = [bcc.PYTHON, "-c", "import bcc; print('bcc', bcc.__version__)"]
    words = asked if issubclass(kind, bcc.Program) else ["bpftrace", "--version"]
    tracer, _, version = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip().partition(" ")
    slower = ratio(found, TRACED, UNTRACED)
    return Cost(
        start_s=round(median(starts).value, 3),
        peak_mebibytes=round(max(peaks), 1),
        what=load.what,
        added_ns=round(added(found, TRACED).value / load.count),
        ratio=round(slower.value, 3),
        ratio_low=round(slower.low, 3),
        ratio_high=round(slower.high, 3),
        **{tracer: version.removeprefix("v")},
        kernel=platform.release(),
        cpus=os.cpu_count() or 0,
    )


def of(path: Path) -> Cost:
    """Read the figures of a script."""
    found: dict[str, Any] = json.loads(path.read_text())
    return Cost(**found)


def keep(measured: Path) -> None:
    """Put fresh figures into the tree, and into the headers."""
    MEASURED.mkdir(exist_ok=True)
    for path in sorted(measured.glob("*.json")):
        (MEASURED / path.name).write_text(path.read_text())
        text = of(path).text()
        script_header.replace_overhead(file_of(path.stem), text)
        print(f"  {file_of(path.stem).name}: {text}")


__all__ = ["LOADS", "MEASURED", "keep", "of", "rows", "rows_for_dtrace"]
