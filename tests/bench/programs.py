"""What one run of each BPF program costs, and one snapshot of all threads."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench import switches
from bench.empty import Empty
from bench.measure import Context
from bench.memory import threads
from bench.processes import cpu_ns
from bench.table import Row
from live.support.recorder import Recorder

SECTION = "7. Cost of the BPF programs and of a snapshot"


def rows(context: Context) -> Iterator[Row]:
    """Programs under the pipe ping-pong, from the recording's footer; snapshots by the recorder's CPU time."""
    floor = Empty(context.scratch)
    seconds = context.choose(1, 3)
    with switches.pair() as pair:
        empty = floor.costs(1)
        with Recorder([pair.ping], context.scratch / "programs") as recorder:
            time.sleep(seconds)
            costs = recorder.stop().footer.cost.programs
    for program in sorted(costs, key=lambda cost: -(cost.ns or 0)):
        if program.ns is None or not program.runs:
            continue
        base = empty.get(program.name)
        note = f"{program.runs:,} runs in {seconds} s" + (f"; an empty one reads {base.each_ns:.0f} ns" if base else "")
        yield Row(SECTION, program.name, program.ns / program.runs, "ns", note=note)
    for count in (1000,) if context.quick else (1000, 10_000):
        with threads(count, period_ms=10_000) as pid:
            yield Row(SECTION, f"snapshot of {count:,} threads, CPU time", *snapshot_ms(context, pid))


def snapshot_ms(context: Context, pid: int) -> tuple[float | None, str]:
    """CPU time of the recorder per interval row, after the start and before the first thread rows."""
    path = context.scratch / "snapshots"

    def intervals() -> int:
        return path.read_bytes().count(b'{"type":"interval"')

    with Recorder([pid], path, interval_ms=100) as recorder:
        time.sleep(1)
        used, taken = cpu_ns(recorder.process.pid), intervals()
        time.sleep(context.choose(2, 7))
        used, taken = cpu_ns(recorder.process.pid) - used, intervals() - taken
        recorder.stop()
    return (used / taken / 1e6 if taken else None), "ms"


__all__ = ["rows"]
