"""What a report shows of work done and of operations: those over their limit first, and none hidden without a word."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.render.head import work
from perfdiag.render.layout import COLUMNS, Page, arrange
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.reports import RUNBOOKS, diagnosis
from unit.support.shown import plain


def test_operations_over_the_limit_come_before_other_work() -> None:
    builder = (
        Builder(slo="1 ms")
        .fact("/proc/100/status", "Name:\ta\n")
        .fact("/proc/100/io", "rchar: 0\n", "rchar: 90000000\n")
        .thread("a", disk_read="4 s")
        .operation("syscall:read", durations={"300 us": 2_000}, over_slo=0, disk_read="2 s")
        .operation("syscall:pread64", durations={"3 ms": 10}, over_slo=10, disk_read="1 s")
    )
    lines = plain(assembly.make(builder.model(), diagnosis(builder.model()), RUNBOOKS)).splitlines()
    starts = [line[:24].rstrip() for line in lines if line.startswith(("OPERATES ", "WORK "))]
    assert starts == ["OPERATES syscall:pread64", "WORK     read 8.58 MiB/s", "OPERATES syscall:read: 2"]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (1, ["OPERATES 3 (--full): work done, syscall:write, syscall:read"]),
        (2, ["WORK     read 8.58 MiB/s", "         and 2 more (--full): syscall:write, syscall:read"]),
    ],
)
def test_operations_without_room_have_their_heading(lines: int, shown: list[str]) -> None:
    builder = Builder().fact("/proc/100/status", "Name:\ta\n").thread("a", disk_read="4 s")
    builder.fact("/proc/100/io", "rchar: 0\n", "rchar: 90000000\n")
    for name, ms in (("read", 1), ("write", 3)):
        builder.operation(f"syscall:{name}", durations={f"{ms} ms": 2_000})
    made = assembly.make(builder.model(), diagnosis(builder.model()), RUNBOOKS)
    section = replace(work(made, Page(COLUMNS)), gap=False)
    assert [line.plain for line in arrange([section], lines)] == shown
