"""SQL-LOCK-WAIT, SQL-IDLE-IN-TRANSACTION and SQL-COMMIT-BOUND: what sessions say they wait for, and who has it."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.amounts import bucket_of
from unit.support.disks import disk, disks
from unit.support.judging import check, finding, findings, knowing, silence

S, MS = 1_000_000_000, 1_000_000
WAIT, IDLE, COMMIT, CONTENTION = "SQL-LOCK-WAIT", "SQL-IDLE-IN-TRANSACTION", "SQL-COMMIT-BOUND", "LOCK-CONTENTION"
ROW, TUPLE, TABLE, ADVISORY = "postgres:3:5", "postgres:3:4", "postgres:3:0", "postgres:3:10"
CLIENT, IN_TRANSACTION = "postgres:6:0", "postgres:6:0:transaction"
WAL_WRITE, WAL_SYNC, BUFFER = "postgres:1:8", "postgres:10:70", "postgres:1:56"
HOLDER = 200


def server(waiters: int = 4, waits: str = "8 s", key: str = ROW) -> Builder:
    """Return sessions that wait for a lock most of 10 s, and for their clients else; and who may have it."""
    builder = Builder(comm="postgres", pid=100).thread("postgres", pid=100)
    builder.line(schema.Application(100, "postgresql", "15.18", waiters, "my_wait_event_info"))
    for pid in range(101, 101 + waiters):
        builder.thread("postgres", pid=pid, cpu_user="10 ms")
        builder.row("lock.database", key, waits, count=2)
    return builder


def holder(builder: Builder, account: str, time: str, key: str = "") -> Builder:
    builder.thread("postgres", pid=HOLDER, cpu_kernel="10 ms", rest="net.request")
    return builder.row(account, key, time, count=1)


def behind(builder: Builder, root: str, time: str, root_object: str = "", key: str = ROW) -> Builder:
    """Say what the holder was in; lines are of one process, as if all waiters were one."""
    return builder.because("lock.database", key, root, time, root_object, root_tid=HOLDER)


def idle_in_transaction(seconds: int = 30) -> Builder:
    builder = holder(server(), "wait.events", "9 s", IN_TRANSACTION)
    return behind(builder, "wait.events", f"{seconds} s", IN_TRANSACTION)


def test_the_client_of_an_open_transaction_is_the_root_of_those_who_wait_for_its_row() -> None:
    model = idle_in_transaction().model()
    found = finding(model, IDLE)
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert found.claims == {("lock.database", ROW): 32 * S}, "of the last 2 s nothing was seen"
    assert found.others[0].pid == HOLDER and f"postgres ({HOLDER})" in found.headline
    diagnosis = diagnose(model)
    assert [each.id for each in diagnosis.findings if each.severity is Severity.WARNING] == [IDLE]
    assert WAIT in {each.id for each in diagnosis.superseded}


def test_of_several_that_hold_it_in_turn_none_is_accused() -> None:
    builder = holder(server(), "wait.events", "9 s", IN_TRANSACTION)
    for turn in range(3):  # one of each, that was in it for long
        builder.because("lock.database", ROW, "wait.events", "10 s", IN_TRANSACTION, root_tid=HOLDER + turn)
    found = finding(builder.model(), IDLE)
    assert found.severity is Severity.WARNING and not found.others and f"({HOLDER})" not in found.headline


def test_a_moment_between_two_statements_is_no_fault() -> None:
    builder = holder(server(waits="10 ms"), "wait.events", "9 s", IN_TRANSACTION)
    model = behind(builder, "wait.events", "40 ms", IN_TRANSACTION).model()
    assert check(model, IDLE).number == 40 * MS


def test_a_transaction_that_nobody_waits_for_is_no_fault() -> None:
    model = holder(server(waiters=0), "wait.events", "9 s", IN_TRANSACTION).model()
    assert not findings(model, IDLE) and check(model, IDLE).number == 0


def test_waits_for_clients_outside_transactions_keep_no_lock() -> None:
    builder = holder(server(), "wait.events", "9 s", CLIENT)
    model = behind(builder, "wait.events", "30 s", CLIENT).model()
    assert not findings(model, IDLE)
    assert finding(model, WAIT).claims == {("lock.database", ROW): 32 * S}


@pytest.mark.parametrize(("seconds", "claimed", "doubt"), [(30, 32, False), (20, 32, True), (8, 8, False)])
def test_waits_of_which_nothing_was_seen_are_like_the_others_where_most_was_seen(
    seconds: int, claimed: int, doubt: bool
) -> None:
    found = finding(idle_in_transaction(seconds).model(), IDLE)
    assert sum(found.claims.values()) == claimed * S
    assert ("nothing was seen of 12.0 s" in str(found.limits)) is doubt


@pytest.mark.parametrize(("pieces", "claimed_ms"), [("1 s", 1060), ("400 ms", 58)])
def test_the_first_second_of_a_wait_is_like_its_rest(pieces: str, claimed_ms: int) -> None:
    """After a second a session looks for a deadlock: that wake-up shows nothing of who has the lock."""
    number = 1 if pieces == "1 s" else 2
    builder = Builder(comm="postgres", pid=100).thread("postgres", pid=100).thread("postgres", pid=101)
    builder.row("lock.database", ROW, "1060 ms", durations={pieces: number, "58 ms": 1})
    builder = behind(holder(builder, "wait.events", "9 s", IN_TRANSACTION), "wait.events", "58 ms", IN_TRANSACTION)
    assert finding(builder.model(), IDLE).claims == {("lock.database", ROW): claimed_ms * MS}


def test_what_holders_did_else_is_taken_from_the_rest_in_proportion() -> None:
    builder = behind(idle_in_transaction(12), "disk.flush", "12 s", "device:254:0")
    assert finding(builder.model(), IDLE).claims == {("lock.database", ROW): 16 * S}


def test_who_looked_for_a_deadlock_goes_on_with_the_same_wait() -> None:
    builder = Builder(comm="postgres", pid=100).thread("postgres", pid=100)
    builder.thread("postgres", pid=101, rest="net.request", open=("lock.database", ROW, "3 s"))
    builder.row("lock.database", ROW, "8 s", count=2)
    builder.thread("postgres", pid=HOLDER, open=("wait.events", IN_TRANSACTION, "7 s"), rest="net.request")
    builder.row("wait.events", IN_TRANSACTION, "7 s", count=1)
    assert finding(builder.model(), IDLE).claims == {("lock.database", ROW): 7 * S}


@pytest.mark.parametrize("waited", ["8 s", "800 ms"])
@pytest.mark.parametrize("computes", ["8 s", "20 ms"])
def test_a_session_that_forgot_its_transaction_is_not_accused_for_another_that_computes(
    computes: str, waited: str
) -> None:
    """Nobody released the lock: who computes all along may have it, too; and short waits are in progress anywhere."""
    builder = Builder(comm="postgres", pid=100).thread("postgres", pid=100)
    builder.thread("postgres", pid=101, rest="net.request", open=("lock.database", ROW, waited))
    builder.row("lock.database", ROW, waited, count=1)
    builder.thread("postgres", pid=102, cpu_user=computes, rest="net.request").row(
        "wait.events", CLIENT, "1 ms", count=1
    )
    builder.thread("postgres", pid=HOLDER, open=("wait.events", IN_TRANSACTION, "9 s"), rest="net.request")
    builder.row("wait.events", IN_TRANSACTION, "9 s", count=1)
    accused = bool(findings(builder.model(), IDLE))
    assert accused is (computes == "20 ms" and waited == "8 s")


def test_short_waits_are_round_trips() -> None:
    builder = server()
    builder.thread("postgres", pid=HOLDER, cpu_user="10 ms")
    builder.row("wait.events", IN_TRANSACTION, durations={"200 us": 40_000})
    found = finding(behind(builder, "wait.events", "30 s", IN_TRANSACTION).model(), IDLE)
    assert found.mechanism is Mechanism.MANY and "timeout" not in found.remedies[0].text


@pytest.mark.parametrize("holders", [0, 1, 2])
def test_locks_that_nobody_released(holders: int) -> None:
    """No wake-up shows who has them: a session that is idle in a transaction can have them, one that computes, too."""
    builder = Builder(comm="postgres", pid=100).thread("postgres", pid=100)
    for pid in range(101, 105):
        builder.thread("postgres", pid=pid, rest="net.request", open=("lock.database", ROW, "8 s"))
        builder.row("lock.database", ROW, "8 s", count=1)
    for pid in range(HOLDER, HOLDER + holders):
        builder.thread("postgres", pid=pid, open=("wait.events", IN_TRANSACTION, "9 s"), rest="net.request")
        builder.row("wait.events", IN_TRANSACTION, "9 s", count=1)
    model = builder.model()
    if not holders:
        assert not findings(model, IDLE)
        assert finding(model, WAIT).confidence is Confidence.MEDIUM
        return
    found = finding(model, IDLE)
    assert found.claims == {("lock.database", ROW): 32 * S}
    assert found.confidence is (Confidence.MEDIUM if holders == 1 else Confidence.LOW)
    assert ("2 sessions" in found.limits[0]) is (holders == 2)


def test_the_holder_of_a_row_is_named_with_what_it_did() -> None:
    builder = holder(server(), "wait.timer", "9 s", "postgres:9:2")
    found = finding(behind(builder, "wait.timer", "30 s", "postgres:9:2").model(), WAIT)
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.SLEEP
    assert found.others[0].pid == HOLDER
    assert "row locks" in found.headline and "Timeout: PgSleep" in found.claim


def test_waits_for_a_row_and_for_the_place_in_its_queue_are_one_matter() -> None:
    builder = server(waiters=2)
    builder.thread("postgres", pid=150, cpu_user="10 ms").row("lock.database", TUPLE, "8 s")
    found = finding(behind(holder(builder, "cpu.user", "9 s"), "cpu.user", "20 s").model(), WAIT)
    assert found.claims == {("lock.database", ROW): 16 * S, ("lock.database", TUPLE): 8 * S}


@pytest.mark.parametrize(
    ("key", "words"),
    [(TABLE, "table locks (relation)"), (ADVISORY, "advisory locks"), (BUFFER, "the internal lock BufferContent")],
)
def test_other_locks_have_names_of_their_own(key: str, words: str) -> None:
    found = finding(server(key=key).model(), WAIT)
    assert words in found.headline and found.confidence is Confidence.MEDIUM


def test_little_waiting_is_fine() -> None:
    assert check(server(waits="1 ms").model(), WAIT).unit == "share"


@pytest.mark.parametrize("key", ["", "postgres:x", "oracle:enq: TX"])
def test_locks_that_have_no_name_here_are_locks_all_the_same(key: str) -> None:
    assert "locks of their database" in finding(server(key=key).model(), WAIT).headline


def test_stacks_do_not_guess_where_sessions_say_it_themselves() -> None:
    """The sampled stack of one of them shows a lock: all its waits for it are in lock.database already."""
    builder = idle_in_transaction()
    for pid in (101, 102):
        stack = ["epoll_wait (libc.so.6)", "WaitLatch (postgres)", "ProcSleep (postgres)"]
        builder.stack("wait", "wait.events", user=stack, weight="5 s", pid=pid)
    assert not findings(builder.model(), CONTENTION)


def committing(flush: str, service: str, count: int = 1000) -> Model:
    """Return four sessions of which one flushes the log for all, so often, the others in line behind it."""
    builder = server(waits="4 s", key=WAL_WRITE)
    builder.thread("postgres", pid=HOLDER, cpu_user="10 ms")
    builder.row("wait.events", CLIENT, "10 ms", count=10).row("disk.flush", "device:254:0", durations={flush: count})
    ns = int(flush.removesuffix(" ms")) * MS
    builder.line(schema.DatabaseWait(HOLDER, "disk.flush", WAL_SYNC, ns * count, count, ns, [(bucket_of(ns), count)]))
    builder.device("254:0", "flush", count=count, service=service)
    builder.because("lock.database", WAL_WRITE, "disk.flush", "15 s", "device:254:0", root_tid=HOLDER)
    return knowing(builder.model(), disks=disks(disk("254:0", "vda", kind="physical", rotational=False)))


def test_commits_on_a_fast_disk_are_profile() -> None:
    found = finding(committing("1 ms", "1 ms"), COMMIT)
    assert found.severity is Severity.INFO
    assert found.claims == {("lock.database", WAL_WRITE): 16 * S, ("disk.flush", "device:254:0"): 1 * S}
    first = diagnose(committing("1 ms", "1 ms")).findings
    assert [each.id for each in first if each.id.startswith(("SQL", "DISK", "LOCK"))] == [COMMIT]


def test_commits_on_a_slow_disk_are_the_disk() -> None:
    model = committing("30 ms", "30 ms", 300)
    assert check(model, COMMIT)
    found = diagnose(model).findings
    assert found[0].id == "DISK-FLUSH-SLOW" and found[0].is_root
    assert [each.id for each in found if each.severity is Severity.WARNING] == ["DISK-FLUSH-SLOW"]


def test_who_flushes_without_a_client_makes_nobody_commit_bound() -> None:
    """The writer of the log, and checkpoints, flush in the background."""
    builder = Builder(comm="postgres").thread("postgres", pid=HOLDER, cpu_user="10 ms", disk_flush="5 s")
    builder.line(schema.DatabaseWait(HOLDER, "disk.flush", WAL_SYNC, 5 * S, 10, S, [(bucket_of(S // 2), 10)]))
    assert check(builder.model(), COMMIT).number == 0


def test_locks_that_a_server_does_not_publish_are_not_ruled_out() -> None:
    """Two sessions of MariaDB waited for a row, and the report said "locks" under RULED OUT."""
    known = schema.Application(pid=100, kind="mariadb", version="10.11", processes=1, reads="dispatch_command")
    builder = (
        Builder(comm="mariadbd").thread("mariadbd", cpu_user="100 ms").row("wait.parked", "futex:1", "9 s", count=1)
    )
    assert "not published" in silence(builder.line(known).model(), "SQL-LOCK-WAIT").reason
    assert check(Builder().thread("nginx", cpu_user="1 s").model(), "SQL-LOCK-WAIT").number == 0
