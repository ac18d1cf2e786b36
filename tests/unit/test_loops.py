"""Who serves: event loops by the part that each has in what requests meet."""

from __future__ import annotations

import pytest
from perfdiag.loops import Servers, servers

from unit.support import Builder
from unit.support.exchanges import exchange, joined

S = 1_000_000_000


def nginx(*workers: dict[str, str], turns: int = 100) -> Servers:
    """Return who serves in a master, which sleeps, and workers; their window is ten seconds."""
    builder = Builder(comm="nginx").thread("nginx", pid=100, cpu_user="1 ms", rest="wait.signal")
    for number, accounts in enumerate(workers, 1):
        builder.thread("nginx", pid=100 + number, **accounts)
    return servers(joined([exchange(100, S, turns=turns)]), builder.model().threads)


BUSY = {"cpu_user": "5 s", "runq_busy": "2 s", "wait_events": "3 s"}


def test_a_master_that_sleeps_is_no_loop_that_is_busy() -> None:
    by = nginx(BUSY)
    assert by.loop and by.busy == pytest.approx(0.7, abs=0.001)
    assert by.passed_on["runq.busy"] == pytest.approx(2 / 7, abs=0.001)


def test_workers_that_nobody_asks_dilute_nothing() -> None:
    idle = {"cpu_user": "2 ms", "wait_events": "9998 ms"}
    by = nginx(BUSY, idle, idle, idle)
    assert by.busy == pytest.approx(0.7, abs=0.002) and by.passed_on["runq.busy"] == pytest.approx(2 / 7, abs=0.002)


def test_loops_that_serve_alike_count_alike() -> None:
    by = nginx(BUSY, {"cpu_user": "5 s", "wait_events": "5 s"})
    assert by.busy == pytest.approx(0.6, abs=0.001) and by.passed_on["runq.busy"] == pytest.approx(1 / 7, abs=0.001)


def test_workers_are_no_loops() -> None:
    by = nginx(BUSY, turns=10)
    assert not by.loop
