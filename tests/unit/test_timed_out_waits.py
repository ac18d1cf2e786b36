"""Requests whose threads are parked until their own timeouts: nobody who serves is left to do what they wait for."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Severity
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import check, finding

S, MS = 1_000_000_000, 1_000_000
SLEEP, THREAD = "WAIT-TIMER-IN-REQUEST", "WAIT-THREAD-IN-REQUEST"
DISPATCHER, WORKER = 90, 95
SERVING = range(101, 105)
REQUESTS = 32


def futex(tid: int) -> str:
    return f"futex:0x{tid:x}"


def pool(*, at_once: int = 4, most: int = 4, again: int = 1, waker: int = DISPATCHER, ended: str = "") -> Model:
    """Four threads that a dispatcher wakes for 32 requests, which are parked for 600 ms each, in so many waits.

    So many of them are mostly under way at once, and `most` for a moment. `ended`: so much of what each thread waits
    there a worker was seen to end, who computes.
    """
    builder = Builder(comm="java").thread("dispatcher", tid=DISPATCHER, cpu_user="20 ms")
    builder.thread("worker", tid=WORKER, cpu_user="6 s", rest="wait.work")
    for tid in SERVING:
        builder.thread("pool-1-thread", tid=tid, cpu_user="10 ms", rest="net.request", requests=(8, 0))
        builder.row("wait.parked", futex(tid), "6 s", count=8 * (again + 1), waker_tid=waker, waker_count=3)
        builder.because("wait.parked", futex(tid), "wait.events", "1 s", root_tid=DISPATCHER)
        if ended:
            builder.because("wait.parked", futex(tid), "cpu.user", ended, root_tid=WORKER, inside=True)
        builder.line(schema.RequestParked(pid=100, object=futex(tid), over_slo=False, count=8, sum_ns=4800 * MS))
    for line in served(REQUESTS, 601 * MS, {"wait.parked": 4 * 4800 * MS, "cpu.user": REQUESTS * MS}):
        builder.line(line)
    level_ns = {1: 300 * MS, most: 10 * MS, at_once: 4500 * MS}
    levels = [schema.Level(level, ns) for level, ns in sorted(level_ns.items())]
    return builder.line(schema.RequestsInside(most, levels, 0)).model()


def first(model: Model) -> Finding:
    return diagnose(model).findings[0]


def test_a_pool_that_waits_for_itself_is_told_as_that_and_not_as_who_wakes_its_idle_threads() -> None:
    found = first(pool())
    assert found.id == SLEEP and found.severity is Severity.WARNING and found.confidence is Confidence.LOW
    assert found.headline == "All 4 threads that serve requests wait at once, until their own timeouts"
    assert found.claim.endswith("19.2 s of it in waits that only their own timeout ended.")
    assert "if tasks of a pool wait for other tasks of the same pool" in found.remedies[0].text
    assert "0 % of their time for other threads" in check(pool(), THREAD).text


def test_what_threads_end_is_no_timeout() -> None:
    model = pool(ended="4700 ms")
    assert "worker" in finding(model, THREAD).claim and check(model, SLEEP).number == 0


@pytest.mark.parametrize(("at_once", "most"), [(2, 4), (2, 2), (6, 6), (4, 6)])
def test_of_those_that_have_threads_to_spare_it_is_unknown_what_they_wait_for(at_once: int, most: int) -> None:
    """Of more than these four that serve, some have ended: there is one for each connection."""
    found = first(pool(at_once=at_once, most=most))
    assert (
        found.id == SLEEP and found.headline == "Threads sleep, or wait until they time out, while they serve requests"
    )


def test_on_a_futex_that_nobody_ever_wakes_each_thread_waits_for_a_time_of_its_own() -> None:
    """Ruby sleeps so: of a sleep in a handler it was said that all threads of a pool wait at once."""
    found = first(pool(waker=0))
    assert (
        found.id == SLEEP and found.headline == "Threads sleep, or wait until they time out, while they serve requests"
    )


def test_who_waits_again_whenever_a_timeout_ends_a_wait_may_be_woken_in_the_end() -> None:
    """Threads of Python look every 5 ms whether they may have the lock of the interpreter."""
    assert check(pool(again=150), SLEEP).number == 0 == check(pool(again=150, waker=0), SLEEP).number


def test_of_who_is_not_of_the_target_it_is_not_known_what_it_does() -> None:
    assert check(pool(waker=7), SLEEP).number == 0
