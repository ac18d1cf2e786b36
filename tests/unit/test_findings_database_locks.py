"""LOCK-CONTENTION of databases: requests that wait for locks in calls that look idle."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.waits.database_lock_symbols import HIDDEN_LOCKS
from perfdiag.recording import schema
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.exchanges import exchange, latency, served
from unit.support.judging import finding, findings, knowing
from unit.support.reports import RUNBOOKS

S, MS = 1_000_000_000, 1_000_000
LOCK, SLEEP = "LOCK-CONTENTION", "WAIT-TIMER-IN-REQUEST"
EVENTS, TIMER = "wait.events", "wait.timer"
UNDETERMINED = Mechanism.UNDETERMINED
FOR_A_ROW = ["epoll_wait (libc.so.6)", "WaitLatch (postgres)", "ProcSleep (postgres)"]
FOR_A_CLIENT = ["epoll_wait (libc.so.6)", "WaitEventSetWait (postgres)", "secure_read (postgres)"]
FOR_A_FILE = ["nanosleep (libc.so.6)", "usleep (libc.so.6)", "sqlite3InvokeBusyHandler (libsqlite3.so.0.8.6)"]


def database(account: str, comm: str, inside_ms: int, samples: list[tuple[list[str], int]]) -> Builder:
    """Return four sessions of 10 s, all but 100 ms in one account; of 100 requests so much.  Samples are in seconds."""
    builder = sessions(comm, account, samples)
    parts = {account: inside_ms * MS, "cpu.user": 400 * MS}
    for line in served(100, sum(parts.values()) // 100, parts):
        builder.line(line)
    return builder


def sessions(comm: str, account: str, samples: list[tuple[list[str], int]], slo: str | None = None) -> Builder:
    builder = Builder(comm=comm, slo=slo)
    for tid in range(101, 105):
        builder.thread(comm, tid=tid, cpu_user="100 ms", rest=account)
    for user, seconds in samples:
        builder.stack("wait", account, user=user, count=seconds, weight=f"{seconds} s")
    return builder


def test_requests_that_wait_for_a_row() -> None:
    model = database(EVENTS, "postgres", 30_000, [(FOR_A_ROW, 30), (FOR_A_CLIENT, 9)]).model()
    found = finding(model, LOCK)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert "for PostgreSQL's locks (ProcSleep): the sessions that hold them are the cause" in found.claim
    assert "pg_blocking_pids(pid)" in found.remedies[0].text
    first = diagnose(model).findings[0]
    assert first.id == LOCK and first.share == pytest.approx(30 / 30.4, rel=0.01)
    assert assembly.make(model, diagnose(model), RUNBOOKS).verdict.kind == "cause"


def test_of_slow_requests_alone_the_samples_of_the_whole_window_are_said_to_be_that() -> None:
    """Ten of a hundred requests wait 3 s each; the limit is 250 ms."""
    builder = sessions("postgres", EVENTS, [(FOR_A_ROW, 30), (FOR_A_CLIENT, 9)], slo="250 ms")
    slow = [schema.PartSum(EVENTS, 30 * S), schema.PartSum("cpu.user", 40 * MS)]
    parts, slow_ns = {EVENTS: 30 * S, "cpu.user": 400 * MS}, 30 * S + 40 * MS
    over = {"over_slo": 10, "over_slo_ns": slow_ns, "over_slo_whole_ns": slow_ns, "over_slo_accounts": slow}
    builder.line(exchange(100, sum(parts.values()), parts, **over)).line(latency([4 * MS] * 90 + [3004 * MS] * 10))
    found = finding(builder.model(), LOCK)
    assert "3.00 s" in found.evidence[0].text and found.confidence is Confidence.MEDIUM
    whole = "of the whole window, not of the slow requests alone"
    assert whole in str(found.limits) and "sampled stacks estimate" in str(found.limits)
    all_alike = finding(database(EVENTS, "postgres", 30_000, [(FOR_A_ROW, 30), (FOR_A_CLIENT, 9)]).model(), LOCK)
    assert whole not in str(all_alike.limits) and "sampled stacks estimate" in str(all_alike.limits)


@pytest.mark.parametrize(("program", "found"), [("edb-postgres", True), ("app", False), ("postgresx", False)])
def test_functions_of_such_names_in_other_programs_are_not_postgresqls(program: str, found: bool) -> None:
    """Whoever has a function ProcSleep waited for PostgreSQL's locks."""
    stack = [FOR_A_ROW[0], f"WaitLatch ({program})", f"ProcSleep ({program})"]
    model = database(EVENTS, program, 30_000, [(stack, 30), (FOR_A_CLIENT, 9)]).model()
    assert bool(findings(model, LOCK)) is found
    assert ("PostgreSQL" in assembly.make(model, diagnose(model), RUNBOOKS).verdict.text) is found


@pytest.mark.parametrize(
    ("callers", "found"),
    [
        (["sqlite3InvokeBusyHandler (libsqlite3.so.0.8.6)"], True),
        (["sqlite3InvokeBusyHandler (app)", "sqlite3Step (app)"], True),  # linked statically
        (["sqliteDefaultBusyCallback (app)", "btreeInvokeBusyHandler (app)", "0x12 (app)"], True),
        (["btreeInvokeBusyHandler (app)", "main (app)"], False),
        (["sqlite3InvokeBusyHandler (app)", "sqlite3InvokeBusyHandler (app)"], False),
    ],
)
def test_one_function_of_such_a_name_is_not_sqlites(callers: list[str], found: bool) -> None:
    stack = [*FOR_A_FILE[:2], *callers]
    assert bool(findings(database(TIMER, "app", 30_000, [(stack, 39)]).model(), LOCK)) is found


@pytest.mark.parametrize(("service", "first"), [("30 ms", "DISK-FLUSH-SLOW"), ("200 us", LOCK)])
def test_a_lock_whose_holders_wait_for_a_slow_disk_is_its_path(service: str, first: str) -> None:
    """Who holds the row commits: where that takes long, it is the disk, as with any other lock."""
    builder = database(EVENTS, "postgres", 30_000, [(FOR_A_ROW, 30), (FOR_A_CLIENT, 9)])
    builder.thread("postgres", tid=105, cpu_user="100 ms").row("disk.flush", "device:254:0", durations={service: 200})
    builder.device("254:0", "flush", count=200, service=service)
    builder.because(EVENTS, "", "disk.flush", "28 s", "device:254:0", root_tid=105)
    found = diagnose(knowing(builder.model(), disks=disks(disk("254:0", "vda", kind="physical", rotational=False))))
    assert found.findings[0].id == first
    assert found.findings[0].share == pytest.approx(28 / 30.4 if first != LOCK else 30 / 30.4, rel=0.02)


def test_what_verifies_names_the_accounts_that_were_claimed() -> None:
    accounts = [kind.account for kind in HIDDEN_LOCKS]
    assert [name for name in accounts if name not in RULES[LOCK].verify] == []
    model = database(EVENTS, "postgres", 30_000, [(FOR_A_ROW, 30), (FOR_A_CLIENT, 9)]).model()
    assert EVENTS in finding(model, LOCK).verify


def test_no_more_is_claimed_than_stacks_prove() -> None:
    model = database(EVENTS, "postgres", 30_000, [(FOR_A_ROW, 10), (FOR_A_CLIENT, 30)]).model()
    assert diagnose(model).findings[0].claimed_ns == pytest.approx(39.6 * S / 4, rel=0.01)


def test_who_talks_to_no_client_keeps_no_request_waiting() -> None:
    builder = database(EVENTS, "postgres", 30_000, [(FOR_A_CLIENT, 30)]).thread("postgres", pid=200)
    stack = [*FOR_A_ROW, "AutoVacWorkerMain (postgres)"]
    assert not findings(builder.stack("wait", EVENTS, user=stack, weight="30 s", pid=200).model(), LOCK)


@pytest.mark.parametrize("samples", [[(FOR_A_CLIENT, 30)], []])
def test_waits_that_no_stack_shows_to_be_for_a_lock_are_neither_a_cause_nor_no_fault(
    samples: list[tuple[list[str], int]],
) -> None:
    model = database(EVENTS, "postgres", 30_000, samples).model()
    assert [(each.mechanism, each.claims) for each in findings(model, LOCK)] == (
        [] if samples else [(UNDETERMINED, {})]
    )
    told = assembly.make(model, diagnose(model), RUNBOOKS).verdict
    assert told.kind == "cannot tell", told
    assert ("pg_blocking_pids(pid)" in told.text) is not bool(samples)


def test_a_moment_is_nobodys_fault() -> None:
    assert not findings(database(EVENTS, "postgres", 10, [(FOR_A_ROW, 30)]).model(), LOCK)


def test_a_sleep_that_is_for_a_lock_is_no_choice() -> None:
    """SQLite asks again after a pause: what helps is not to sleep less."""
    model = database(TIMER, "app", 30_000, [(FOR_A_FILE, 30)]).model()
    found = diagnose(model)
    assert found.findings[0].id == LOCK and "SQLite's locks" in found.findings[0].claim
    assert SLEEP in {each.id for each in found.superseded}
    asleep = diagnose(database(TIMER, "app", 30_000, [(["nanosleep (libc.so.6)", "handle (app)"], 30)]).model())
    assert asleep.findings[0].id == SLEEP and not [each for each in asleep.findings if each.id == LOCK]
