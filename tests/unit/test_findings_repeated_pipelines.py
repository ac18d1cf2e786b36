"""A script runs the same pipeline again and again: its processes are many, and their stages are few."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding

PEER, SINGLE = "IPC-PEER-SLOW", "CPU-SINGLE-THREAD"
REPEATED = 9


def repeated(*, works: str = "390 ms", readers: tuple[str, ...] = ("bash",), shells: bool = False) -> Model:
    """Nine times `cat log | while read line`, each for 0.4 s; the rows of ended processes stand together."""
    builder = Builder(cpus=2, comm="script").thread("script", pid=99, wait_child="4 s", wait_timer="6 s")
    for number in range(REPEATED):
        builder.thread("cat", pid=100 + number, wall="400 ms", cpu_user="10 ms", ipc_pipe="390 ms", exited=True)
        comm = readers[number % len(readers)]
        builder.thread(comm, pid=200 + number, wall="400 ms", cpu_kernel=works, rest="ipc.pipe", exited=True)
        if shells:
            builder.thread("dash", pid=300 + number, wall="400 ms", ipc_pipe="200 us", rest="wait.child", exited=True)
    return with_ended_rows(builder)


def with_ended_rows(builder: Builder) -> Model:
    """Return a model whose waits at pipes stand together, as those of ended processes do."""
    rows = [
        replace(row, pid=0 if row.pid >= 100 else row.pid, key="pipe:5", waker_tid=200, waker_count=900)
        if row.account == "ipc.pipe"
        else row
        for row in builder.model().rows
    ]
    return replace(builder.model(), rows=rows)


@pytest.mark.parametrize("shells", [False, True], ids=["alone", "beside the shells that make them"])
def test_all_processes_of_the_stage_that_works_are_the_limit(shells: bool) -> None:
    waits = finding(repeated(shells=shells), PEER)
    assert waits.severity is Severity.INFO and "bash (9 processes), which works" in waits.headline
    limit = finding(repeated(shells=shells), SINGLE)
    assert limit.severity is Severity.WARNING and limit.headline.startswith("bash (9 processes) is the limit")
    assert dict(limit.claims) == {"cpu.kernel": REPEATED * 390_000_000}
    (stages,) = [each.text for each in limit.evidence if "each stage" in each.text]
    assert (stages.count("bash"), stages.count("cat")) == (1, 1), stages


@pytest.mark.parametrize("model", [repeated(works="250 ms"), repeated(readers=("bash", "awk"))])
def test_no_stage_is_the_limit_of_all(model: Model) -> None:
    """It waits itself, or another one works each time."""
    assert "none limits the others" in finding(model, PEER).headline
    check(model, SINGLE)


def test_programs_that_one_process_calls_in_turn_are_no_pipeline() -> None:
    """A server runs a program for each request and reads what it prints: that is the work."""
    builder = Builder(cpus=2, comm="server").thread("server", pid=99, ipc_pipe="4 s", rest="wait.events")
    for number in range(REPEATED):
        builder.thread("sh", pid=200 + number, wall="400 ms", cpu_user="390 ms", rest="ipc.pipe", exited=True)
    assert "none limits the others" in finding(with_ended_rows(builder), PEER).headline
    check(with_ended_rows(builder), SINGLE)
