"""Threads that serve requests and wait for each other, as for a lock, or in a line behind one that works."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.recording import schema
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.awaited_threads import (
    DEVICE,
    FLUSH,
    FUTEX,
    ID,
    IDLE,
    LOCKS,
    MS,
    OTHER,
    WORKER,
    S,
    parked,
    seen,
    serving,
    told,
)
from unit.support.exchanges import served
from unit.support.judging import finding, findings
from unit.support.reports import RUNBOOKS


def test_threads_that_serve_and_wait_for_each_other_take_turns() -> None:
    """As where they take a lock that no stack shows: whoever computes keeps the others waiting."""
    builder = seen(serving(waker=102), "cpu.user", "20 s", root_tid=102)
    found = finding(builder.model(), LOCKS)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert "for each other" in found.claim and "mostly runs its own code" in found.claim
    assert not findings(builder.model(), ID)


def test_a_thread_that_passed_by_is_not_whom_those_in_turn_wait_for() -> None:
    """Of sixteen that take a lock in turn none is in the root for most of a wait: some thread is all that is known."""
    first = told(seen(serving(waker=102), "cpu.user", "20 s", root_tid=WORKER)).findings[0]
    assert first.id == LOCKS and "for each other" in first.claim, first


def test_who_serves_and_tells_others_news_holds_no_lock() -> None:
    """A chat: what one was asked, the others are told."""
    builder = seen(serving(waker=102), "net.request", "10.1 s", root_tid=102)
    assert finding(builder.model(), ID).severity is Severity.INFO and not findings(builder.model(), LOCKS)


@pytest.mark.parametrize("told", ["10.1 s", "20 s"])  # with all of it, requests of a chat are left out
@pytest.mark.parametrize("root", ["net.request", "wait.events"])
def test_a_statement_of_sql_waits_for_no_news_but_for_a_lock(root: str, told: str) -> None:
    """A session in MariaDB that has changed a row, and waits for its client: others want that row."""
    builder = (
        serving(threads=3, waker=WORKER + 1).thread("session", tid=WORKER + 1, cpu_user="10 ms", rest=root).reads(20)
    )
    seen(builder, root, told, root_tid=WORKER + 1)
    builder.line(schema.Application(100, "mariadb", "10.11", 1, ""))
    model = builder.model()
    found = finding(model, IDLE)
    assert found.severity is Severity.WARNING and not findings(model, ID) and not findings(model, LOCKS)
    assert found.headline.startswith(f"session ({WORKER + 1}) holds locks in a transaction and waits for its client")
    assert "COMMIT" in found.remedies[0].text


def test_behind_a_slow_flush_it_is_the_flush() -> None:
    builder = serving(disk_flush="0 s")
    builder.thread("committer", tid=400, cpu_user="100 ms").row("disk.flush", DEVICE, durations={"50 ms": 180})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=180, service="48 ms")
    found = told(seen(builder, "disk.flush", "19 s", 400, DEVICE))
    first = found.findings[0]
    assert first.id == FLUSH and first.share == pytest.approx(19 / 20.4, rel=0.01), first
    assert "Others waited 19.0 s behind that (mostly wait.parked -> disk.flush 254:0)" in first.claim
    assert ID in {each.id for each in found.superseded}


@pytest.mark.parametrize(("others", "moved_s"), [("0 s", 20), ("2 s", 3)])
def test_of_a_line_those_in_front_tell_for_all_if_all_was_the_same(others: str, moved_s: int) -> None:
    """A pool of two connections, or a lock that is handed on: each waits for all before it, two are followed."""
    builder = serving(disk_flush="0 s")
    builder.thread("committer", tid=400, cpu_user="100 ms").row("disk.flush", DEVICE, durations={"50 ms": 180})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=180, service="48 ms")
    seen(builder, "disk.flush", "3 s", 102, DEVICE)
    found = told(seen(builder, "cpu.user", others, root_tid=103))
    flush = next(each for each in found.findings if each.id == FLUSH)
    assert flush.share == pytest.approx(moved_s / 20.4, rel=0.02), flush
    assert f"Others waited {moved_s}.0{'0' * (moved_s < 10)} s behind that" in flush.claim
    assert any("only the first threads" in each for each in flush.limits) is (moved_s == 20)


@pytest.mark.parametrize("known", ["0.02 s", "0 s"])
def test_a_line_of_which_hardly_anything_was_seen_is_not_taken_for_another(known: str) -> None:
    """Two pools: one is known whole, of the other next to nothing, or a line of no time."""
    builder = serving(disk_flush="0 s", told_ms=20_000)
    builder.thread("committer", tid=400, cpu_user="100 ms").row("disk.flush", DEVICE, durations={"50 ms": 180})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=180, service="48 ms")
    builder.thread("serve", tid=111, cpu_user="100 ms", rest="net.request")
    builder.row("wait.parked", OTHER, "4 s", count=80, waker_tid=102, waker_count=60)
    parked(builder, 4 * S, OTHER, 80)
    seen(builder, "disk.flush", "4 s", 102, DEVICE, key=OTHER)
    found = told(seen(builder, "disk.flush", known, 102, DEVICE))
    flush = next(each for each in found.findings if each.id == FLUSH)
    assert flush.share < 0.25 and not any("only the first threads" in each for each in flush.limits), flush


def test_a_share_that_holds_what_waited_behind_is_said_to() -> None:
    """The sleep alone takes a fifth of it: "4.75 s of 24.1 s (98 %)" would be no sum."""
    builder = Builder(comm="server").thread("sleeper", tid=WORKER, wait_timer="4750 ms", rest="net.request")
    for tid in range(101, 105):
        builder.thread("serve", tid=tid, cpu_user="100 ms", rest="net.request")
        builder.row("wait.parked", FUTEX, "4750 ms", count=100, waker_tid=WORKER, waker_count=90)
    sums = {"wait.parked": 19_000 * MS, "wait.timer": 4_750 * MS, "cpu.user": 400 * MS}
    for line in served(400, sum(sums.values()) // 400, sums):
        builder.line(line)
    model = seen(parked(builder, 19 * S), "wait.timer", "19 s").model()
    found = diagnose(model)
    assert found.findings[0].id == "WAIT-TIMER-IN-REQUEST" and found.findings[0].share > 0.95
    assert (
        "(98 % of request time, with requests queued behind it)." in assembly.make(model, found, RUNBOOKS).verdict.text
    )


def test_of_a_long_line_the_last_few_are_enough() -> None:
    """Twenty take a lock in turn, each on a futex of its own: four of those before are followed, who were parked."""
    builder = seen(serving(waker=102), "wait.parked", "3 s", root_tid=102)
    found = finding(builder.model(), LOCKS)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.LOW and "for each other" in found.claim
    builder = seen(serving(waker=102), "cpu.user", "3 s", root_tid=102)
    assert finding(builder.model(), ID) and not findings(builder.model(), LOCKS)


@pytest.mark.parametrize(("followed", "in_turn"), [("4.9 s", False), ("5.1 s", True)])
def test_of_a_long_queue_a_quarter_tells_for_all(followed: str, in_turn: bool) -> None:
    """Each waits in the middle of a request for another that serves: 16 threads are more than one can follow."""
    builder = seen(serving(waker=102), "cpu.user", followed, root_tid=102)
    assert bool(findings(builder.model(), LOCKS)) is in_turn
