"""Who serves: event loops by what they read, and the part that each has in what requests meet."""

from __future__ import annotations

import pytest
from perfdiag.model.requests.serving_threads import Servers, servers

from unit.support import Builder


def nginx(*workers: dict[str, str], requests: tuple[int, int] = (100, 100)) -> Servers:
    """Return who serves in a master, which sleeps, and workers, which read alike; their window is ten seconds."""
    builder = Builder(comm="nginx").thread("nginx", pid=100, cpu_user="1 ms", rest="wait.signal")
    for number, accounts in enumerate(workers, 1):
        builder.thread("nginx", pid=100 + number, requests=requests, **accounts)
    return servers(builder.model().threads)


BUSY = {"cpu_user": "5 s", "runq_busy": "2 s", "wait_events": "3 s"}


def test_a_master_that_reads_nothing_is_no_loop() -> None:
    by = nginx(BUSY)
    assert [loop.pid for loop in by.loops] == [101] and by.busy == pytest.approx(0.7, abs=0.001)


def test_loops_count_by_what_they_read() -> None:
    builder = Builder().thread("busy", pid=100, requests=(300, 299), **BUSY)
    by = servers(builder.thread("idle", pid=200, requests=(100, 99), cpu_user="1 s").model().threads)
    assert len(by.loops) == 2 and by.busy == pytest.approx((3 * 0.7 + 0.1) / 4, abs=0.001)


def test_clients_that_open_a_connection_for_each_request_leave_a_loop_a_loop() -> None:
    """Of 143 requests, three at a time, 37 came while another connection was open."""
    assert nginx(BUSY, requests=(143, 37)).loop


def test_workers_are_no_loops() -> None:
    assert not nginx(BUSY, requests=(100, 5)).loop


def test_who_computes_beside_it_is_no_loop() -> None:
    """The loop slept, and what was said to hold it up was the code of a thread, or child, that serves nobody."""
    loop = {"cpu_user": "1 s", "wait_timer": "7 s", "wait_events": "2 s"}
    builder = Builder().thread("loop", requests=(100, 99), **loop).thread("background", cpu_user="10 s")
    by = servers(builder.thread("child", pid=200, cpu_user="10 s").model().threads)
    assert [thread.comm for thread in by.loops] == ["loop"] and by.busy == pytest.approx(0.8, abs=0.001)


def test_a_loop_that_never_gets_to_wait_is_known_by_what_it_reads() -> None:
    """Another thread waits for events all the time; the loop is in a write to a full pipe."""
    builder = Builder(comm="node").thread("node", requests=(100, 99), cpu_user="100 ms", ipc_pipe="9900 ms")
    by = servers(builder.thread("node", rest="wait.events").thread("node", rest="wait.parked").model().threads)
    assert [thread.tid for thread in by.loops] == [100] and by.busy == 1


@pytest.mark.parametrize("reads", [[(50, 40), (50, 40)], [(100, 5)]])
def test_threads_that_take_turns_at_reading_are_no_loops(reads: list[tuple[int, int]]) -> None:
    builder = Builder(comm="server")
    for each in reads:
        builder.thread("server", requests=each, cpu_user="3 s")
    assert not servers(builder.model().threads).loop


def test_a_recording_that_does_not_tell_who_reads_has_nobody_who_serves() -> None:
    """What a thread does on average says nothing about what requests meet."""
    by = servers(Builder().thread("loop", requests=(None, 0), **BUSY).model().threads)
    assert by == Servers(followed=False)
