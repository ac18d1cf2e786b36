"""LOCK-CONTENTION: what lets a root be named, and locks that prove by their functions what they are for."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Finding, Severity, Silence
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import finding, findings, outcomes

ID = "LOCK-CONTENTION"
MUTEX = ["__lll_lock_wait (libc.so.6)"]
WAIT = ["__futex_abstimed_wait_common (libc.so.6)"]
ENTER = [
    "pthread_cond_timedwait (libc.so.6)",
    "_ZN2os13PlatformEvent4parkEl (libjvm.so)",
    "_ZN13ObjectMonitor6EnterIEP10JavaThread (libjvm.so)",
]
AGAIN = ["__pthread_mutex_cond_lock (libc.so.6)", "pthread_cond_wait (libc.so.6)", "take (app)"]


# A runtime that looks again: a deadlock whose waits end


def looking_again(
    each: str = "9998 ms", runs: str = "40 us", waker: int = 0, lost: int = 0, lucky: str = "50 ms"
) -> list[Finding]:
    """Two threads of a JVM, each parked on a word of its own for a second at most, again and again; and a third."""
    builder = Builder(comm="java").lost(wakeups_missing=lost)
    for tid, futex in ((101, "futex:0x10"), (102, "futex:0x20")):
        builder.thread(f"T{tid}", tid=tid, cpu_kernel=runs, open=("wait.parked", futex, "400 ms"), rest="runq.waking")
        builder.row("wait.parked", futex, each, count=12, waker_tid=waker, waker_count=12 if waker else 0)
        builder.stack("wait", "wait.parked", tid=tid, object=futex, user=WAIT, scan=ENTER, weight=each)
    builder.thread("lucky", tid=103, cpu_user="5 s")
    builder.row("wait.parked", "futex:0x30", lucky, count=50, waker_tid=103, waker_count=1)
    builder.stack("wait", "wait.parked", tid=103, object="futex:0x30", user=WAIT, scan=ENTER, weight=lucky)
    return [each for each in findings(builder.model(), ID) if each.claims]


def test_waits_that_time_out_are_no_releases() -> None:
    [found] = looking_again()
    assert found.severity is Severity.CRITICAL
    assert "2 threads waited all 10.0 s for Java monitors (synchronized) that nobody released" in found.claim
    assert "deadlock" in found.claim and "holders" not in found.claim
    assert "jstack 100" in found.remedies[0].text and "T101 (101), T102 (102)" in found.evidence[0].text


def test_a_monitor_that_is_released_or_waited_for_less_is_no_deadlock() -> None:
    for found in (
        *looking_again(waker=102),
        *looking_again(lucky="2 s"),
        *looking_again("9500 ms"),
        *looking_again(runs="1 s", each="8 s"),
    ):
        assert "nobody released" not in found.claim and found.severity is not Severity.CRITICAL


def test_where_wake_ups_were_lost_a_wait_that_ended_may_have_been_a_release() -> None:
    assert "nobody released" in looking_again(lost=5)[0].claim
    assert "nobody released" not in looking_again(lost=22)[0].claim


def test_who_gets_a_lock_in_turn_is_not_stuck_however_many_wait() -> None:
    """Of 150 threads each waits more than 99 % of the window, and the votes for who wakes them cancel out."""
    builder = Builder()
    for tid in range(101, 251):
        builder.thread("worker", tid=tid, cpu_user="60 ms", open=("wait.parked", "futex:0x10", "1 s"), rest="runq.busy")
        builder.row("wait.parked", "futex:0x10", "9935 ms", count=5)
    builder.stack("wait", "wait.parked", object="futex:0x10", user=[*MUTEX, "work (app)"], weight="9 s")
    assert "nobody released" not in finding(builder.model(), ID).claim


def test_what_guards_a_whole_runtime_is_no_deadlock() -> None:
    """Native code that computes under the GIL all along: those who wait for it are not stuck for ever."""
    builder = Builder(comm="python3")
    for tid in (101, 102):
        builder.thread("t", tid=tid, open=("wait.parked", "futex:0x10", "3 ms"), rest="runq.waking")
        builder.row("wait.parked", "futex:0x10", "9998 ms", count=2000)
    scan = ["pthread_cond_timedwait (libc.so.6)", "take_gil (libpython3.11.so.1.0)"]
    builder.stack("wait", "wait.parked", object="futex:0x10", user=WAIT, scan=scan, weight="9 s")
    assert "nobody released" not in finding(builder.model(), ID).claim


# A root rests on as much time as the lock was held


def in_turn(*, threads: int = 4, waits: str = "4 s", **does: str) -> str:
    builder = Builder()
    for tid in range(101, 101 + threads):
        builder.thread("worker", tid=tid, **does)  # type: ignore[arg-type]  # accounts only
        builder.row("lock.futex", "futex:0x10", waits, count=100)
    return finding(builder.model(), ID).claim


def test_microseconds_are_no_root() -> None:
    assert "kernel code" not in in_turn(cpu_kernel="400 us")
    assert "kernel code" not in in_turn(cpu_kernel="700 ms")  # 2.8 s of all: less than one of them waited
    assert "runs kernel code" in in_turn(cpu_kernel="1100 ms")


def test_one_holder_that_did_next_to_nothing_is_no_root() -> None:
    builder = Builder().thread("quick", tid=200, cpu_user="50 ms")
    for tid in (101, 102):
        builder.thread("worker", tid=tid)
        builder.row("lock.futex", "futex:0x10", "9 s", count=100, waker_tid=200, waker_count=90)
    claim = finding(builder.model(), ID).claim
    assert "most waits are for quick (200)" in claim and "own code" not in claim


def test_what_is_done_beyond_one_window_is_done_without_the_lock() -> None:
    """One thread at a time has the lock: of 16 s that four compute beside 8 s of flushes, 6 s at least are without."""
    assert "disk.flush" in in_turn(disk_flush="2100 ms", cpu_user="400 ms")
    both = in_turn(cpu_user="4 s", disk_flush="2 s")
    assert "section" not in both and "taken by 4 threads in turn" in both and "disk.flush" not in both


# A holder that waits for another lock


def chain(held_up: str, *, tid: int = 200) -> str:
    """Three threads wait for a lock whose holder waits `held_up` for another one, as a stack of thread `tid` shows."""
    builder = Builder().thread("sleeper", tid=300, rest="wait.timer").thread("middle", tid=200, cpu_user="100 ms")
    builder.row("lock.futex", "futex:0x20", held_up, count=100, waker_tid=300, waker_count=100)
    builder.stack("wait", "lock.futex", object="futex:0x20", tid=tid, user=[*MUTEX, "inner (app)"], weight="1 s")
    for waiter in (101, 102, 103):
        builder.thread("outer", tid=waiter)
        builder.row("lock.futex", "futex:0x10", "6 s", count=100, waker_tid=200, waker_count=90)
    [found] = [each for each in findings(builder.model(), ID) if ("lock.futex", "futex:0x10") in each.claims]
    return found.claim + found.remedies[0].text


def test_a_holder_that_waits_for_another_lock_is_followed() -> None:
    assert "its holder, middle (200), itself waits for another lock (futex 0x20)" in chain("7 s")
    assert "do not wait for futex 0x20 while holding this lock" in chain("7 s")


def test_a_holder_that_waits_little_or_is_not_seen_to_wait_is_not_followed() -> None:
    assert "another lock" not in chain("2 s") and "another lock" not in chain("7 s", tid=999)


# PostgreSQL's log


def commits(flush: str, function: str = "LWLockAcquireOrWait", **lost: int) -> Finding:
    """Four backends, each parked on the word of its own semaphore."""
    builder = Builder(comm="postgres").lost(**lost)
    for number in range(4):
        pid, futex = 200 + number, f"futex:{0x1000 + 0x80 * number:#x}"
        builder.thread("postgres", pid=pid, cpu_user="900 ms", disk_flush=(flush, 500))
        builder.row("wait.parked", futex, "4 s", count=9000)
        scan = ["__new_sem_wait_slow64 (libc.so.6)", "PGSemaphoreLock (postgres)", f"{function} (postgres)"]
        builder.stack("wait", "wait.parked", pid=pid, object=futex, user=WAIT, scan=scan, weight="4 s")
    return finding(builder.model(), ID)


def test_who_writes_the_log_for_all_is_one_lock_and_the_flush_its_root() -> None:
    found = commits("600 ms")  # less than they compute, but that is done without this lock
    assert found.claims == {("lock.futex", "lock:walwrite"): 16_000_000_000}
    assert "for PostgreSQL's WALWriteLock" in found.claim
    assert "waits until data is on disk (disk.flush)" in found.claim
    assert "one transaction" in found.remedies[0].text and "outside the lock" not in found.remedies[0].text
    assert any("flushing to disk covers 60 %" in evidence.text for evidence in found.evidence)


def test_without_flushes_to_speak_of_they_are_not_the_root() -> None:
    found = commits("300 ms")
    assert "WALWriteLock" in found.claim and "root" not in found.claim
    assert any("records lost" in limit for limit in commits("600 ms", ring_buffer=900).limits)


def test_other_locks_of_postgres_are_one_kind_without_a_root_of_their_own() -> None:
    found = commits("600 ms", "LWLockAcquire")
    assert "for PostgreSQL's LWLocks" in found.claim and "disk.flush" not in found.claim
    assert found.claims == {("lock.futex", "lock:lwlock"): 16_000_000_000}


# Woken together


def woken(scan: list[str], waits: str = "4 s", comm: str = "app", rest: str = "wait.parked") -> Finding:
    builder = Builder(comm=comm)
    for tid in range(101, 105):
        builder.thread("pool", tid=tid, cpu_user="900 ms", rest=rest)
        builder.row("lock.futex", "futex:0x10", waits, count=1000)
    builder.stack("wait", "lock.futex", object="futex:0x10", user=MUTEX, scan=scan, weight="4 s")
    return finding(builder.model(), ID)


def test_threads_that_meet_as_they_wake_from_a_condition() -> None:
    found = woken(AGAIN)
    assert "more threads are woken at once than can continue" in found.claim
    assert found.remedies[0].text.startswith("in take (app): wake one waiter (pthread_cond_signal")
    assert any("the mutex just after a wait for the condition" in evidence.text for evidence in found.evidence)
    assert "several threads are woken at once" in woken(AGAIN, "2 s").claim


@pytest.mark.parametrize(
    "scan",
    [
        ["pthread_mutex_lock (libc.so.6)", "take (app)", *AGAIN],  # what stands further out may be left from before
        [],
        ["__pthread_mutex_cond_lock (libc.so.6)", "_ZN7Monitor4waitEl (libjvm.so)"],  # the runtime's to mend
    ],
)
def test_who_only_woke_some_time_before_is_no_herd(scan: list[str]) -> None:
    assert "condition" not in woken(scan).claim


def test_a_holder_that_waits_with_the_lock_in_hand_is_more_than_the_herd() -> None:
    found = woken(AGAIN, "8 s", rest="wait.timer")
    assert "sleeps on a timer" in found.claim and "condition" not in found.claim


# What cannot be told, and what tells it


def parked(comm: str, frame: str) -> Model:
    builder = Builder(comm=comm).thread(comm, cpu_user="1 s")
    builder.row("wait.parked", "futex:0x10", "4 s", count=400, waker_tid=100)
    return builder.stack("wait", "wait.parked", object="futex:0x10", user=[*WAIT, frame]).model()


@pytest.mark.parametrize(
    ("comm", "frame", "says"),
    [
        ("java", "Unsafe_Park (libjvm.so)", 'jstack 100; "parking to wait for" a ReentrantLock'),
        ("ruby", "rb_native_cond_wait (libruby-3.1.so.3.1)", "rbspy snapshot --pid 100; Mutex#lock"),
        ("mariadbd", "pthread_cond_timedwait (libc.so.6)", "SHOW ENGINE INNODB STATUS, section TRANSACTIONS"),
    ],
)
def test_where_locks_and_work_look_alike_the_fix_says_how_to_read_what_tells(comm: str, frame: str, says: str) -> None:
    [said] = [each for each in outcomes(parked(comm, frame), ID) if isinstance(each, Silence)]
    assert said.fix.startswith(says)


def test_a_wait_for_a_row_of_innodb_is_one_for_a_transaction() -> None:
    builder = Builder(comm="mysqld").thread("connection", cpu_user="1 s", rest="net.accept")
    scan = [
        "pthread_cond_timedwait (libc.so.6)",
        "_Z9lock_waitP9que_thr_t (mysqld)",
        "row_mysql_handle_errors (mysqld)",
    ]
    builder.row("wait.parked", "futex:0x10", "4 s", count=40, waker_tid=999)
    builder.stack("wait", "wait.parked", object="futex:0x10", user=WAIT, scan=scan, weight="4 s")
    found = finding(builder.model(), ID)
    assert "InnoDB's row locks: a transaction waits for another" in found.claim
    assert "SHOW ENGINE INNODB STATUS" in found.remedies[0].text and "MUTEX" not in found.remedies[0].text


# In what the holder was itself, and the one that it waited for


def test_what_the_holder_was_in_is_told_apart_from_what_that_waited_for() -> None:
    """It holds the lock while it reads a pipe: who writes there sleeps, not the holder."""
    builder = Builder().thread("helper", tid=300, rest="wait.timer").thread("middle", tid=200, cpu_user="100 ms")
    for waiter in (101, 102, 103):
        builder.thread("outer", tid=waiter)
        builder.row("lock.futex", "futex:0x10", "6 s", count=100, waker_tid=200, waker_count=90)
    builder.because("lock.futex", "futex:0x10", "wait.timer", "17 s", steps=["ipc.pipe"], root_tid=300)
    found = finding(builder.model(), ID)
    assert "its holder, middle (200), mostly waits for another process at a pipe" in found.claim
    assert "while the thread that it waits for sleeps on a timer" in found.claim
    assert "do not wait for another process while holding the lock" in found.remedies[0].text
    assert any("middle (200)" in e.text and "(wait.timer" in e.text for e in found.evidence)
