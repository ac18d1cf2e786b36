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
    assert by.met.passed_on["runq.busy"] == pytest.approx(2 / 7, abs=0.001)


def test_workers_that_nobody_asks_dilute_nothing() -> None:
    idle = {"cpu_user": "2 ms", "wait_events": "9998 ms"}
    by = nginx(BUSY, idle, idle, idle)
    assert by.busy == pytest.approx(0.7, abs=0.002) and by.met.passed_on["runq.busy"] == pytest.approx(2 / 7, abs=0.002)


def test_loops_that_serve_alike_count_alike() -> None:
    by = nginx(BUSY, {"cpu_user": "5 s", "wait_events": "5 s"})
    assert by.busy == pytest.approx(0.6, abs=0.001)
    # Turns of 7 s are met more often than those of 5 s, and for longer.
    assert by.met.passed_on["runq.busy"] == pytest.approx(2 * 7 / (7 * 7 + 5 * 5), abs=0.001)


def test_who_waits_longest_at_a_time_holds_up_most() -> None:
    """Short turns of 3 s in all, and five waits of 400 ms: who comes then waits for long."""
    builder = Builder(comm="node").thread("node", cpu_user="3 s", rest="net.accept")
    builder.row("wait.events", "", durations={"10 ms": 400}).row("disk.flush", "device:7:0", durations={"400 ms": 5})
    by = servers(joined([exchange(100, S, turns=100)]), builder.model().threads)
    assert by.met.passed_on["disk.flush"] > 0.9, by


def test_one_loop_that_waits_holds_up_more_than_another_that_computes() -> None:
    waits = {"cpu_user": "200 ms", "disk_flush": "7500 ms", "wait_events": "2300 ms"}
    assert nginx(waits, {"cpu_user": "3 s", "wait_events": "7 s"}).met.passed_on["disk.flush"] > 0.8


def test_a_loop_that_never_gets_to_wait_is_no_master() -> None:
    assert nginx({"cpu_user": "50 ms", "disk_flush": "9950 ms"}).met.passed_on["disk.flush"] > 0.9


def test_clients_that_open_a_connection_for_each_request_leave_a_loop_a_loop() -> None:
    """Of 143 requests, three at a time, 37 came while another connection was open."""
    assert nginx(BUSY, turns=26).loop


def test_workers_are_no_loops() -> None:
    by = nginx(BUSY, turns=5)
    assert not by.loop


LOOP = {"cpu_user": "1 s", "wait_timer": "7 s", "wait_events": "2 s"}
COMPUTES = {"cpu_user": "10 s"}


def of_threads(**threads: tuple[int, dict[str, str]]) -> Servers:
    """Return who serves in threads of these processes, by name."""
    builder = Builder(comm="server")
    for tid, (name, (pid, accounts)) in enumerate(threads.items(), 100):
        builder.thread(name, pid=pid, tid=tid, **accounts)
    return servers(joined([exchange(100, S, turns=100)]), builder.model().threads)


def test_a_thread_that_only_computes_is_not_the_loop_beside_it() -> None:
    """The loop slept, and what was said to hold it up was the code of a thread that serves nobody."""
    by = of_threads(loop=(100, LOOP), background=(100, COMPUTES))
    assert [thread.comm for thread in by.loops] == ["loop"] and by.busy == pytest.approx(0.8, abs=0.001)


def test_a_child_that_only_computes_is_no_loop() -> None:
    by = of_threads(loop=(100, LOOP), child=(200, COMPUTES))
    assert [thread.comm for thread in by.loops] == ["loop"]


def test_where_the_one_who_turns_is_mostly_free_workers_serve() -> None:
    """It hands what comes to those who compute."""
    free = {"cpu_user": "100 ms", "wait_events": "9900 ms"}
    assert not of_threads(dispatcher=(100, free), worker=(100, COMPUTES)).loop


def test_a_loop_that_is_never_free_is_one() -> None:
    by = of_threads(loop=(100, COMPUTES), helper=(100, {"cpu_user": "1 s", "rest": "wait.parked"}))
    assert [thread.comm for thread in by.loops] == ["loop"]


def test_a_loop_that_never_gets_to_wait_is_known_by_what_it_reads() -> None:
    """Another thread waits for events all the time; the loop is in a write to a full pipe."""
    builder = Builder(comm="node").thread("node", requests=(100, 99), cpu_user="100 ms", ipc_pipe="9900 ms")
    builder.thread("node", requests=(0, 0), rest="wait.events").thread("node", requests=(0, 0), rest="wait.parked")
    by = servers(joined([exchange(100, S, turns=99)]), builder.model().threads)
    assert [thread.tid for thread in by.loops] == [100] and by.busy == 1


@pytest.mark.parametrize("reads", [[(50, 40), (50, 40)], [(100, 5)]])
def test_threads_that_take_turns_at_reading_are_no_loops(reads: list[tuple[int, int]]) -> None:
    builder = Builder(comm="server")
    for each in reads:
        builder.thread("server", requests=each, cpu_user="3 s")
    assert not servers(joined([exchange(100, S, turns=80)]), builder.model().threads).loop
