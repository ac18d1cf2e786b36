"""A short recording stretched to an hour, by the rules the recorder limits its volume with.

Every line is one that the recorder wrote; only its clock and its sums (cumulative, hence linear in time) are changed,
and lines of a kind recur when the recorder would have written them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NS = 1_000_000_000

# lib/recorder/window/interval.c
INTERVAL_NS, LATER_INTERVAL_NS, LATER_FROM_NS = NS // 4, NS, 60 * NS
THREAD_ROWS_NS, ROW_BYTES_PER_SECOND = 10 * NS, 16384
SERIES_NS = 5 * NS

Line = dict[str, Any]


class Template:
    """The lines of a real recording, by what makes them recur."""

    def __init__(self, recording: Path) -> None:
        lines: list[Line] = [json.loads(line) for line in recording.read_bytes().splitlines()]
        self.header, self.footer = lines[0], lines[-1]
        self.start_ns: int = self.header["start_ns"]
        self.length_ns: int = self.footer["at_ns"] - self.start_ns
        self.begin = [line for line in lines if line.get("phase") == "begin"]
        self.series = self._once([line for line in lines if line.get("phase") == "series"])
        self.intervals = [line for line in lines if line["type"] == "interval"]
        self.threads = list({line["serial"]: line for line in lines if line["type"] == "thread"}.values())
        known = ("header", "interval", "thread", "footer")
        self.end = [line for line in lines if line["type"] not in known and line.get("phase") in (None, "end")]
        if not self.intervals or not self.series:
            raise RuntimeError(f"{recording} is too short a template: it has no interval or no series of facts")

    @staticmethod
    def _once(lines: list[Line]) -> list[Line]:
        """One reading of each file."""
        return list({line["path"]: line for line in lines}.values())

    def stretched(self, line: Line, at_ns: int) -> Line:
        """A line as it would read `at_ns` after the start."""
        factor = at_ns / self.length_ns
        line = {**line, "at_ns": self.start_ns + at_ns} if "at_ns" in line else dict(line)
        for key in ("wall_ns", "user_ns", "kernel_ns", "sum_ns", "count", "weight_ns", "service_ns", "queue_ns"):
            if key in line:
                line[key] = round(line[key] * factor)
        if "accounts" in line:
            line["accounts"] = [[a, round(ns * factor), round(n * factor), most] for a, ns, n, most in line["accounts"]]
        return line

    def hour(self, length_ns: int = 3600 * NS) -> Iterator[bytes]:
        """All lines of a recording that lasts so long and whose threads all change all the time."""
        pack = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

        def emit(line: Line) -> bytes:
            return pack(line).encode() + b"\n"

        yield emit({**self.header, "options": {**self.header["options"], "duration_ns": length_ns}})
        yield from map(emit, self.begin)
        at, next_series, next_rows = INTERVAL_NS, SERIES_NS, THREAD_ROWS_NS
        while at < length_ns:
            if at >= next_rows:
                rows = [emit(self.stretched(line, at)) for line in self.threads]
                yield from rows
                next_rows = at + max(THREAD_ROWS_NS, sum(map(len, rows)) * NS // ROW_BYTES_PER_SECOND)
            yield emit(self.stretched(self.intervals[-1], at))
            if at >= next_series:
                next_series = at + SERIES_NS
                yield from (emit(self.stretched(line, at)) for line in self.series)
            at += INTERVAL_NS if at < LATER_FROM_NS else LATER_INTERVAL_NS
        for lines in (self.threads, self.intervals[-1:], self.end):
            yield from (emit(self.stretched(line, length_ns)) for line in lines)
        yield emit({**self.footer, "at_ns": self.start_ns + length_ns})


__all__ = ["Template"]
