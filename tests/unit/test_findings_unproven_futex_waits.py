"""LOCK-CONTENTION of parked threads: what cannot be told, with which tool to see more, and deadlocks."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.debuggers import shows_stacks
from perfdiag.diagnosis.rule import Finding, Mechanism, Severity, Silence

from unit.support import Builder
from unit.support.judging import check, finding, findings, outcomes

ID, FUTEX = "LOCK-CONTENTION", "futex:0x7f00"


def test_parked_threads_without_stacks_cannot_be_told() -> None:
    builder = Builder().thread("idle?", cpu_user="1 s").row("wait.parked", FUTEX, "4 s", count=400, waker_tid=100)
    model = builder.without("stacks").model()
    said = [each for each in outcomes(model, ID) if isinstance(each, Silence)]
    assert len(said) == 1 and "no stack with function names" in said[0].reason and not findings(model, ID)


def test_a_thread_that_is_joined_is_nobodys_lock() -> None:
    model = Builder().thread("main", cpu_user="1 s").row("wait.parked", FUTEX, "9 s", count=1).model()
    assert "locks" in check(model, ID).text


def test_threads_parked_elsewhere_than_in_a_lock_are_said_with_their_number_and_a_next_step() -> None:
    model = (
        Builder()
        .thread("pool", cpu_user="1 s")
        .row("wait.parked", FUTEX, "4 s", count=400, waker_tid=100)
        .stack("wait", "wait.parked", object=FUTEX, user=["pthread_cond_wait (libc.so.6)", "take (app)"])
        .model()
    )
    [said] = outcomes(model, ID)
    assert isinstance(said, Silence) and "40 % of thread time is blocked or idle" in said.reason
    assert said.fix == "gdb -p 100 -batch -ex 'thread apply all bt' (stops the process for a moment)"


@pytest.mark.parametrize(
    ("comm", "frame", "command"),
    [
        ("python3", "worker (app)", "py-spy dump --pid 100"),
        ("app", "take_gil (libpython3.11.so.1.0)", "py-spy dump --pid 100"),
        ("java", "worker (app)", "jstack 100"),
        ("launcher", "_ZN7Monitor4waitEl (libjvm.so)", "jstack 100"),
        ("puma", "worker (app)", "rbspy snapshot --pid 100"),
        ("app", "worker (pythonic)", "gdb -p 100 -batch -ex 'thread apply all bt' (stops the process for a moment)"),
    ],
)
def test_the_tool_that_shows_more_is_the_runtimes_own(comm: str, frame: str, command: str) -> None:
    builder = Builder(comm=comm).thread(comm).stack("wait", "wait.timer", user=[frame])
    assert shows_stacks(builder.model(), 100) == command
    assert shows_stacks(builder.model(), 0) == command


def code(name: str) -> list[str]:
    return ["__lll_lock_wait (libc.so.6)", f"{name} (app)"]


def test_locks_that_nobody_releases_are_a_deadlock() -> None:
    builder = Builder(window="10 s")
    for tid, futex in ((101, "futex:0x10"), (102, "futex:0x20")):
        builder.thread("dead", tid=tid, open=("wait.parked", futex, "10 s"))
        builder.row("wait.parked", futex, "10 s", count=1)
        builder.stack("wait", "wait.parked", tid=tid, object=futex, user=code(f"t{tid}"), weight="10 s")
    found = finding(builder.model(), ID)
    assert found.severity is Severity.CRITICAL
    assert "2 threads waited all 10.0 s for 2 locks that nobody released" in found.claim and "deadlock" in found.claim
    assert sum(found.claims.values()) == 20_000_000_000
    assert [e.text for e in found.evidence][1:] == [
        "futex 0x10 wanted by t101 (app)",
        "futex 0x20 wanted by t102 (app)",
    ]
    assert "thread apply all bt" in found.remedies[0].text


@pytest.mark.parametrize("account", ["wait.events", "net.accept", "net.request"])
def test_a_lock_may_be_held_by_who_waits_for_work(account: str) -> None:
    """Leader and followers: one of a pool waits for work with the lock in hand, the others behind it."""

    def found(*futexes: str) -> Finding:
        builder = Builder(window="10 s").thread("leader", tid=100, rest=account)
        for tid, futex in enumerate(futexes, 101):
            builder.thread("follower", tid=tid, open=("wait.parked", futex, "10 s"))
            builder.row("wait.parked", futex, "10 s", count=1)
            builder.stack("wait", "wait.parked", tid=tid, object=futex, user=code("lead"), weight="10 s")
        return finding(builder.model(), ID)

    idle = found("futex:0x10", "futex:0x10", "futex:0x10")
    assert idle.severity is Severity.INFO and idle.mechanism is Mechanism.UNDETERMINED
    assert f"leader (100), which waits for work all along ({account})" in idle.claim
    assert found("futex:0x10", "futex:0x20").severity is Severity.CRITICAL, "one cannot hold both"


def test_a_lock_that_is_released_is_no_deadlock() -> None:
    builder = Builder(window="10 s")
    builder.thread("late", tid=101, open=("wait.parked", "futex:0x10", "10 s"))
    builder.row("wait.parked", "futex:0x10", "10 s", count=1)
    builder.thread("lucky", tid=102, cpu_user="1 s")
    builder.row("wait.parked", "futex:0x10", "8 s", count=100, waker_tid=102, waker_count=90)
    model = builder.stack("wait", "wait.parked", object="futex:0x10", user=code("work"), weight="9 s").model()
    assert "nobody released" not in finding(model, ID).claim


def met_late(wall: str = "9880 ms", waits: str = "9880 ms") -> Builder:
    """A deadlock on a host so busy that its threads were first met when the window had begun."""
    builder = Builder(window="10 s")
    for tid, futex in ((101, "futex:0x10"), (102, "futex:0x20")):
        builder.thread("dead", tid=tid, wall=wall, open=("wait.parked", futex, waits), rest="runq.busy")
        builder.row("wait.parked", futex, waits, count=1)
        builder.stack("wait", "wait.parked", tid=tid, object=futex, user=code(f"t{tid}"), weight=waits)
    return builder


def test_threads_that_were_met_late_waited_all_the_time_that_they_were_seen() -> None:
    """It read "Threads wait 2.97 s for one lock; 2 threads in turn take it", of a deadlock."""
    found = finding(met_late().model(), ID)
    assert found.severity is Severity.CRITICAL and "2 threads waited all 9.88 s for 2 locks" in found.claim
    for model in (met_late("5 s", "5 s").model(), met_late(waits="9700 ms").model()):  # half unseen; they did more
        assert all(each.severity is not Severity.CRITICAL for each in findings(model, ID))
    assert finding(met_late().lost(storage_failed=50).model(), ID).limits[1:]


def test_nobody_takes_a_lock_in_turn_for_which_no_wait_ended() -> None:
    builder = Builder(window="10 s")
    for tid in (101, 102):
        builder.thread("waits", tid=tid, open=("wait.parked", "futex:0x10", "5 s"), cpu_user="1 s")
        builder.row("wait.parked", "futex:0x10", "5 s", count=1)
    builder.stack("wait", "wait.parked", object="futex:0x10", user=code("work"), weight="5 s")
    found = finding(builder.model(), ID)
    assert "in turn" not in found.claim and any("unknown who had the lock" in limit for limit in found.limits)
