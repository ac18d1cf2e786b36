"""What the benchmark keeps of each version, and what the README tells of it."""

from __future__ import annotations

from bench.medians import block, changes, figures, stored
from bench.table import Row
from readme_block import README


def _kept(name: str, low: float, value: float, high: float, *, floor: bool = False) -> dict[str, object]:
    row = {"name": name, "value": value, "low": low, "high": high, "unit": "x", "floor": floor}
    return {"version": "v1", "host": {}, "rows": figures([row])}


def _row(name: str, low: float, value: float, high: float, *, floor: bool = False) -> Row:
    return Row("section", name, value, "x", low, high, floor=floor)


def test_readme_has_the_last_version() -> None:
    assert block(stored()) in README.read_text(), "make bench-keep"


def test_what_lies_apart_is_told() -> None:
    told = list(changes([_row("throughput", 0.80, 0.82, 0.84, floor=True)], [_kept("throughput", 0.9, 0.92, 0.94)]))
    assert told[0].split()[0] == "WORSE" and "v1" in told[0]
    assert told[-1].split()[0] == "1"


def test_more_of_a_cost_is_worse() -> None:
    first, _ = changes([_row("cost", 1.4, 1.5, 1.6)], [_kept("cost", 1.1, 1.2, 1.3)])
    assert first.split()[0] == "WORSE"
    first, _ = changes([_row("cost", 1.0, 1.01, 1.02)], [_kept("cost", 1.1, 1.2, 1.3)])
    assert first.split()[0] == "better"


def test_ranges_that_meet_are_no_difference() -> None:
    (only,) = changes([_row("cost", 1.25, 1.4, 1.5)], [_kept("cost", 1.1, 1.2, 1.3)])
    assert only.split()[0] == "1"


def test_the_last_version_that_has_a_figure_counts() -> None:
    old, new = _kept("cost", 1.1, 1.2, 1.3), _kept("another", 1.0, 1.1, 1.2)
    told = list(changes([_row("cost", 1.4, 1.5, 1.6)], [old, {**new, "version": "v2"}]))
    assert "v1" in told[0]


def test_counts_of_the_machine_are_not_kept() -> None:
    row = {"name": "requests", "value": 9.0, "low": 8.0, "high": 10.0, "unit": "per s", "floor": False}
    assert figures([row]) == {}
