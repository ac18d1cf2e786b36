"""What a report shows of operations: those over their limit, and none of them hidden without a word."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.render.layout import COLUMNS, Page, arrange
from perfdiag.render.work import work
from perfdiag.report import assembly as report
from perfdiag.report.assembly import Report

from unit.support import Builder
from unit.support.reports import RUNBOOKS, diagnosis
from unit.support.shown import plain


def made(*over: str) -> Report:
    builder = Builder(slo="1 ms").thread("a", disk_read="4 s")
    for name in ("read", "write", "fsync"):
        slow = 2_000 if name in over else 0
        builder.operation(f"syscall:{name}", durations={"3 ms": 2_000}, over_slo=slow, disk_read="2 s")
    return report.make(builder.model(), diagnosis(builder.model()), RUNBOOKS)


def test_operations_over_the_limit_stand_in_the_short_report_and_all_in_the_full_one() -> None:
    found = made("write")
    starts = [line[9:].partition(":2")[0] for line in plain(found).splitlines() if "syscall:" in line]
    assert len(starts) == 1 and starts[0].startswith("syscall:write: 2,000, ")
    full = plain(found, full=True)
    assert all(f"syscall:{name}: 2,000, " in full for name in ("read", "write", "fsync"))


@pytest.mark.parametrize(("lines", "hidden"), [(1, "2 kinds"), (3, "1 kind")])
def test_operations_without_room_are_counted(lines: int, hidden: str) -> None:
    section = replace(work(made("read", "write"), Page(COLUMNS)), gap=False)
    shown = [line.plain for line in arrange([section], lines)]
    assert len(shown) <= lines and f" {hidden} over their limit: --full" in shown[-1]
    assert shown[0].startswith("CALLS    ")
