"""Processes that crash in the window: told in the head, and by who waits for them."""

from __future__ import annotations

from perfdiag.diagnosis.rule import Severity
from perfdiag.report.header import notes

from unit.support import Builder
from unit.support.judging import finding
from unit.test_findings_proc_child_slow import CHILD, parent_and_child

ABORTED = {"by_comm": "svn", "signal": 6}


def crashed(times: int, *, dumped: bool) -> Builder:
    builder = parent_and_child()
    for number in range(times):
        builder.event("signal", "SIGABRT", pid=200 + number, core_dumped=dumped, **ABORTED)
    return builder


def test_a_parent_that_waits_for_core_dumps_has_a_problem() -> None:
    """Three of twelve workers crashed, and the kernel packed their memory for seconds: no problem, "CPU waking"."""
    model = crashed(3, dumped=True).model()
    found = finding(model, CHILD)
    assert found.severity is Severity.WARNING and found.headline.endswith("waits for child processes that crash")
    assert "3 processes crashed, 3 with a core dump: svn (SIGABRT)" in found.claim
    assert "ulimit -c 0" in found.remedies[0].text
    assert "3 processes crashed, 3 with a core dump: svn (SIGABRT)" in notes(model)


def test_crashes_without_a_dump_are_told_and_cost_nobody_time() -> None:
    found = finding(crashed(1, dumped=False).model(), CHILD)
    assert found.severity is Severity.INFO and "1 process crashed: svn (SIGABRT)" in found.claim
    assert "ulimit" not in found.remedies[0].text


def test_who_is_ended_from_outside_has_not_crashed() -> None:
    builder = parent_and_child().event("signal", "SIGTERM", by_comm="svn", signal=15)
    assert "crash" not in finding(builder.model(), CHILD).headline
    assert not any("crash" in note for note in notes(builder.model()))
