"""CPU-SPINNING: loops that only ask for work, those that work or sleep, and those that cannot be told."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Check, Confidence, Severity

from unit.support import Builder
from unit.support.judging import check, finding, outcomes, silence

ID = "CPU-SPINNING"
YIELDING = {"kernel": ["do_sched_yield", "__x64_sys_sched_yield", "do_syscall_64"], "user": ["sched_yield (libc.so.6)"]}
# What the C library's wrapper called is not on the stack yet, or no more.
IN_BETWEEN = {"kernel": ["do_syscall_64", "entry_SYSCALL_64_after_hwframe"], "user": ["__poll (libc.so.6)"]}
NO_LIBRARY = {"kernel": ["ep_poll", "do_epoll_wait", "__x64_sys_epoll_pwait"], "user": ["runtime.epollwait (server)"]}
BY_NAME = {"user": ["wait_for_work_spin (app)"]}
FOR_LOCK = {"user": ["_ZN8SpinLock4lockEv (app)"]}
WORKING = {"user": ["handle (app)"]}
RECEIVING = {"kernel": ["tcp_recvmsg", "sock_recvmsg", "__sys_recvfrom"], "user": ["recv (libc.so.6)"]}
COPYING = {"kernel": ["_copy_to_iter", "tcp_recvmsg", "sock_recvmsg"], "user": ["recv (libc.so.6)"]}


def running(asking: dict[str, Any], *, asks: int = 300, works: int = 100, sleeps: int = 0) -> Builder:
    waits: Any = {"wait_events": ("500 ms", sleeps)} if sleeps else {}
    builder = Builder().thread("poller", cpu_user="3 s", cpu_kernel="6 s", **waits)
    return builder.stack("cpu", count=asks, **asking).stack("cpu", count=works, **WORKING)


@pytest.mark.parametrize(
    ("stack", "call"),
    [(YIELDING, "sched_yield"), (IN_BETWEEN, "poll"), (NO_LIBRARY, "epoll_pwait"), (RECEIVING, "recv")],
    ids=["yield", "between two calls", "Go", "recv"],
)
def test_who_asks_in_a_loop_burns_what_the_asking_takes(stack: dict[str, Any], call: str) -> None:
    found = finding(running(stack).model(), ID)
    assert found.severity is Severity.INFO and found.confidence is Confidence.HIGH
    assert "100" in found.claim and "75 %" in found.claim
    assert dict(found.claims) == {"cpu.kernel": 6_000_000_000}, "three quarters of 9 s are more than there is"
    assert found.evidence[0].error
    assert "sleep until there is work" in found.remedies[0].text


@pytest.mark.parametrize(
    ("asks", "inside", "spins"),
    [(80, "500 ms", True), (60, "500 ms", False), (80, "1 s", False), (80, None, False)],
    ids=["hardly serves", "hardly asks", "serves", "no server"],
)
def test_an_interpreter_runs_longer_between_the_calls(asks: int, inside: str | None, spins: bool) -> None:
    builder = running(IN_BETWEEN, asks=asks, works=400 - asks)
    if inside:
        builder.exchange("port:80", "accepted", {"10 ms": 100}, accounts={"cpu_user": inside})
    if not spins:
        assert check(builder.model(), ID)
        return
    found = finding(builder.model(), ID)
    assert dict(found.claims) == {"cpu.user": 2_500_000_000, "cpu.kernel": 6_000_000_000}
    assert found.confidence is Confidence.MEDIUM
    assert found.severity is Severity.WARNING, "a request would have woken who sleeps"


@pytest.mark.parametrize(
    "unknown", [{"whole": 10, "whole_ns": "100 ms"}, {"declined": 1}, {"open": 1, "oldest_ns": "9 s"}], ids=str
)
def test_where_it_is_not_known_who_computes_for_requests_nobody_idles(unknown: dict[str, Any]) -> None:
    """Requests go from thread to thread, share connections, or are not answered yet: they may be all the work."""
    builder = running(IN_BETWEEN, asks=80, works=320)
    builder.exchange("port:80", "accepted", {"10 ms": 100}, accounts={"cpu_user": "100 ms"}, **unknown)
    assert check(builder.model(), ID)


def test_a_loop_in_user_space_is_told_by_its_name_alone() -> None:
    found = finding(running(BY_NAME).model(), ID)
    assert dict(found.claims) == {"cpu.user": 3_000_000_000}
    assert found.confidence is Confidence.MEDIUM


@pytest.mark.parametrize("name", ["SpinPause", "runtime.procyield", "pthread_spin_lock", "cpu_relax", "do_wait_spin"])
def test_names_of_loops_that_wait(name: str) -> None:
    assert finding(running({"user": [f"{name} (lib.so)"]}).model(), ID)


@pytest.mark.parametrize("name", ["spin", "spinner_draw", "spin_matrix", "respin", "flag_is_set", "yield_curve"])
def test_names_that_say_nothing_of_waiting(name: str) -> None:
    assert check(running({"user": [f"{name} (app)"]}).model(), ID)


def test_who_burns_is_not_said_to_compute() -> None:
    found = [each.id for each in diagnose(running(YIELDING, works=30).model()).findings]
    assert found == [ID]


def test_what_computes_beside_it_is_told_apart() -> None:
    builder = running(YIELDING, works=20).thread("worker", pid=300, cpu_user="9 s")
    builder.stack("cpu", count=320, **WORKING)
    claimed_ns = {each.id: each.claimed_ns for each in diagnose(builder.model()).findings}
    assert claimed_ns == {ID: 6_000_000_000, "CPU-SINGLE-THREAD": 9_000_000_000, "CPU-BOUND": 3_000_000_000}


def test_own_threads_that_wait_for_its_cpu_make_it_a_fault() -> None:
    builder = Builder().thread("poller", cpu_user="3 s", cpu_kernel="6 s", runq_busy="500 ms")
    builder.stack("cpu", count=300, **YIELDING).thread("worker", tid=101, cpu_user="1 s")
    builder.row("runq.busy", "own:100:poller", "4 s", count=400)
    found = finding(builder.model(), ID)
    assert found.severity is Severity.WARNING
    assert any("4.00 s" in each.text for each in found.evidence)


def test_a_busy_event_loop_that_computes_does_not_spin() -> None:
    assert check(running(NO_LIBRARY, asks=60, works=340).model(), ID).number == pytest.approx(0.15)


@pytest.mark.parametrize(("between", "spins"), [(0, False), (10, False), (40, True)])
def test_a_call_that_goes_through_many_descriptors_works_for_long(between: int, spins: bool) -> None:
    """Of calls that return at once the way into the kernel and back is a good part."""
    looking = {"kernel": ["tcp_poll", "sock_poll", "do_sys_poll", "__x64_sys_poll"], "user": ["poll (libc.so.6)"]}
    builder = running(looking, asks=400 - between, works=0).stack("cpu", count=between or 1, **IN_BETWEEN)
    found = [each for each in outcomes(builder.model(), ID) if not isinstance(each, Check)]
    assert bool(found) == spins, found


def test_two_fifths_must_be_sure() -> None:
    assert isinstance(check(running(YIELDING, asks=44, works=56).model(), ID), Check)
    assert finding(running(YIELDING, asks=440, works=560).model(), ID).severity is Severity.INFO


def test_who_sleeps_every_other_millisecond_waits_as_it_should() -> None:
    assert not outcomes(running(NO_LIBRARY, sleeps=5000).model(), ID)
    assert finding(running(NO_LIBRARY, sleeps=500).model(), ID)


def test_who_is_on_its_way_to_sleep_does_not_return_at_once() -> None:
    asleep = {"kernel": ["schedule_hrtimeout_range", "do_sys_poll", "__x64_sys_poll"], "user": ["poll (libc.so.6)"]}
    assert check(running(asleep).model(), ID).number == 0


def test_a_receiver_that_is_given_something_does_not_ask_in_vain() -> None:
    builder = running(RECEIVING, asks=280)
    assert check(builder.stack("cpu", count=20, **COPYING).model(), ID)
    assert check(running(RECEIVING, asks=40, works=10).model(), ID), "40 samples do not show that nothing is copied"


def test_without_samples_nobody_is_said_to_burn_or_to_work() -> None:
    blind = Builder().thread("poller", cpu_user="3 s", cpu_kernel="6 s").without("stacks").model()
    assert silence(blind, ID)
    assert "only 40 CPU samples" in silence(running(YIELDING, asks=30, works=10).model(), ID).reason


def test_one_full_thread_that_only_asks_is_no_bottleneck() -> None:
    builder = running(YIELDING, works=30).thread("idle", tid=101)
    assert "CPU-SINGLE-THREAD" not in {each.id for each in diagnose(builder.model()).findings}


def test_who_spins_for_a_lock_is_told_of_the_lock() -> None:
    """It read "polls for work": the work is there, and somebody has the lock."""
    found = finding(running(FOR_LOCK).model(), ID)
    assert found.headline.endswith(" spins for a lock instead of sleeping") and "for work" not in found.claim
    assert "who has the lock" in found.remedies[0].text and len(found.remedies) == 1
