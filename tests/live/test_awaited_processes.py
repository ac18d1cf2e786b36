"""Requests that wait for programs which the server runs for them: what those do is what the requests wait for."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.report import assembly
from perfdiag.report.contract import Report

from live.support.fixtures import Attach, Cleanup, Serving
from live.support.host import slow_disk
from live.support.model import model_of
from live.support.serving import asked, http, stopped

FLUSH_US = 50_000
READS = pytest.mark.parametrize("reads", [False, True], ids=["waits", "reads"])


def served_by(command: list[str], reads: bool, serving: Serving, attach: Attach) -> Report:
    """Return the report on 20 requests, each of which runs a program."""
    server = serving(f"thread_each(listening(), by_program({command!r}, reads={reads}))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(20):
            asked(connection, http("/"))
    model = model_of(stopped(recorder))
    assert model.request_time and model.request_time.count == 20
    return assembly.make(model, engine.diagnose(model), Config())


@READS
@pytest.mark.may_skip("ext4 in the kernel")
def test_programs_that_flush(reads: bool, tmp_path: Path, cleanup: Cleanup, serving: Serving, attach: Attach) -> None:
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", flush_us=FLUSH_US))
    writes = ["dd", "if=/dev/zero", f"of={disk.mountpoint / 'file'}", "count=1", "conv=fsync"]
    report = served_by(writes, reads, serving, attach)
    first = report.findings[0]
    assert first.id == "DISK-FLUSH-SLOW" and first.share > 0.8, report.findings
    assert report.verdict.ids == ["DISK-FLUSH-SLOW"], report.verdict


@READS
def test_programs_that_sleep(reads: bool, serving: Serving, attach: Attach) -> None:
    report = served_by(["sleep", "0.05"], reads, serving, attach)
    first = report.findings[0]
    assert first.id == "PROC-CHILD-SLOW" and first.share > 0.7 and first.severity == "warning", report.findings


@READS
def test_programs_that_compute(reads: bool, serving: Serving, attach: Attach) -> None:
    """It is their time on a CPU, and no fault."""
    report = served_by(["sh", "-c", "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"], reads, serving, attach)
    time = report.request_time
    assert report.verdict.kind != "cause" and time, report.verdict
    assert sum(ns for name, ns in time.accounts.items() if name.startswith("cpu.")) > 0.8 * time.ns, time.accounts
