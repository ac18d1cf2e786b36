"""PROC-CRASHED: processes that a signal of their own fault ends; ones that are ended from outside; nothing known."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.judging import check, finding, findings, silence
from unit.support.shown import plain

ID = "PROC-CRASHED"


def crashed(times: int, *, dumped: int = 0, name: str = "SIGABRT", number: int = 6) -> Builder:
    builder = Builder().thread("svn", cpu_user="1 s")
    for index in range(times):
        builder.event("signal", name, pid=200 + index, core_dumped=index < dumped, by_comm="svn", signal=number)
    return builder


def test_crashes_lead_the_report() -> None:
    """Three of twelve workers crashed, and the kernel packed their memory for seconds: no problem, "CPU waking"."""
    found = finding(crashed(3, dumped=3).model(), ID)
    assert found.severity is Severity.CRITICAL and not found.claims
    assert found.headline == "3 processes crashed, each with a core dump: svn (SIGABRT)"
    assert "ulimit -c" in found.remedies[1].text
    model = crashed(3, dumped=3).model()
    assert f"\nPROBLEM  {found.headline}" in plain(assembly.make(model, diagnose(model), Config()))


def test_one_crash_among_hundreds_of_programs_is_no_outage() -> None:
    builder = crashed(1)
    for number in range(200):
        builder.thread("cc", pid=1000 + number, tid=1000 + number, cpu_user="1 ms", exited=True)
    assert finding(builder.model(), ID).severity is Severity.WARNING


def test_without_a_core_nobody_is_told_to_make_it_smaller() -> None:
    found = finding(crashed(2, dumped=1).model(), ID)
    assert found.headline == "2 processes crashed, 1 with a core dump: svn (SIGABRT)"
    assert len(finding(crashed(1).model(), ID).remedies) == 1


def test_who_is_ended_from_outside_has_not_crashed() -> None:
    model = crashed(1, name="SIGTERM", number=15).model()
    assert not findings(model, ID) and check(model, ID).number == 0
    found = finding(crashed(1, dumped=1, name="SIGQUIT", number=3).model(), ID)
    assert [each.text for each in found.evidence] == ["1 ended with a core dump by another signal"]


def test_ends_that_are_not_recorded_are_not_taken_for_none() -> None:
    assert "lost" in silence(crashed(0).lost(ring_buffer=1).model(), ID).reason
    model = crashed(0).model()
    script = replace(model, header=msgspec.structs.replace(model.header, engine="bpftrace"))
    assert "scripts" in silence(script, ID).reason
