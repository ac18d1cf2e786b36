"""The table of the benchmark: rows as data, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import Estimate

NAME_COLUMNS = 52


@dataclass(frozen=True)
class Row:
    """One figure; with a `limit` (at most, or at least when `floor`) also a goal that is met or missed."""

    section: str
    name: str
    value: float | None  # None: not measured, `note` says why
    unit: str
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    floor: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """ "met" or "missed", "" without a goal; "?" after it when the spread reaches across the limit."""
        if self.limit is None:
            return ""
        if self.value is None:
            return "not measured"
        met = self.value >= self.limit if self.floor else self.value <= self.limit
        crossed = self.low is not None and self.high is not None and self.low <= self.limit <= self.high
        return ("met" if met else "missed") + ("?" if crossed else "")


def of(section: str, name: str, estimate: Estimate, unit: str, **more: Any) -> Row:
    """Make a row of an estimate."""
    return Row(section, name, estimate.value, unit, estimate.low, estimate.high, **more)


def number(value: float) -> str:
    """Three significant digits, all of them before the point."""
    if not math.isfinite(value):
        return "no bound"
    if value and abs(value) < 100:
        return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:,.0f}"


def spread(low: float, high: float) -> str:
    """A range as text."""
    return f"{number(low)} .. {number(high)}"


def line(row: Row) -> str:
    """A row as text."""
    if row.value is None:
        return f"  {row.name:<{NAME_COLUMNS}} not measured: {row.note}"
    around = spread(row.low, row.high) if row.low is not None and row.high is not None else ""
    goal = f"goal {'>=' if row.floor else '<='} {number(row.limit)}" if row.limit is not None else ""
    text = f"  {row.name:<{NAME_COLUMNS}} {number(row.value):>9} {row.unit:<10} {around:<20} {goal:<14} {row.verdict}"
    return text.rstrip() + (f"\n      {row.note}" if row.note else "")


def text(rows: Sequence[Row], host: dict[str, Any]) -> str:
    """The whole table."""
    lines = [
        "perfdiag bench: medians of alternating rounds; beside them the range of 90 % of resampled medians.",
        "`?`: the range reaches across the goal.  Host: " + ", ".join(f"{k} {v}" for k, v in host.items()),
    ]
    section = None
    for row in rows:
        if row.section != section:
            section = row.section
            lines += ["", section]
        lines.append(line(row))
    goals = [row.verdict for row in rows if row.limit is not None]
    lines += ["", "goals: " + ", ".join(f"{goals.count(verdict)} {verdict}" for verdict in sorted(set(goals)))]
    return "\n".join(lines) + "\n"


def write(directory: Path, rows: Sequence[Row], host: dict[str, Any]) -> None:
    """Write bench.txt and bench.json."""
    data = {"host": host, "rows": [{**dataclasses.asdict(row), "verdict": row.verdict} for row in rows]}
    (directory / "bench.json").write_text(json.dumps(data, indent=1) + "\n")
    (directory / "bench.txt").write_text(text(rows, host))


__all__ = ["Row", "line", "number", "of", "spread", "text", "write"]
