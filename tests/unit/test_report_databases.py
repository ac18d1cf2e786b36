"""Waits of databases for locks look idle: the report says so, and what tells."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.idle.sleeps import sleep
from perfdiag.diagnosis.rule import Mechanism
from perfdiag.model.coverage import sql_sent
from perfdiag.report.assembly import Report
from perfdiag.report.contract import Finding
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.reports import finding, made

LOCK = "LOCK-CONTENTION"
EPOLL = "epoll_wait (libc.so.6)"
SET, LATCH = "WaitEventSetWait (postgres)", "WaitLatch (postgres)"
LEFT = "__new_sem_wait_slow64 (libc.so.6)"  # by an earlier call
SLEPT = ["nanosleep (libc.so.6)", "usleep (libc.so.6)"]
BUSY = "sqlite3InvokeBusyHandler (libsqlite3.so.0.8.6)"


def backend(comm: str = "postgres", *, locking: int = 0, talking: int = 0, pid: int = 100, **accounts: str) -> Builder:
    """A process that waits for events, in as many samples for locks and for its client."""
    builder = Builder(comm=comm).thread(comm, pid=pid, **accounts)
    for number, functions in ((locking, [LATCH, "ProcSleep (postgres)"]), (talking, ["secure_read (postgres)"])):
        if number:
            user = [EPOLL, *functions]
            builder.stack("wait", "wait.events", pid=pid, user=user, count=number, weight=f"{number} ms")
    return builder


def told(builder: Builder) -> Report:
    return made(builder.model())


def locks(report: Report) -> list[Finding]:
    return [each for each in report.findings if each.id == LOCK]


def sampled(account: str, scan: list[str], comm: str = "postgres", user: str = EPOLL) -> Builder:
    builder = Builder(comm=comm).thread(comm, rest=account)
    return builder.stack("wait", account, user=[user], scan=scan, weight="10 s")


def test_a_backend_without_stacks_is_not_acquitted() -> None:
    text = told(backend(cpu_user="1 ms")).verdict
    assert text.kind == Kind.CANNOT_TELL.value and "PostgreSQL waits for locks as it waits for clients" in text.text
    assert 'To tell: psql -c "SELECT pid, pg_blocking_pids(pid)' in text.text
    redis = backend("redis", cpu_user="1 ms").exchange("port:6379", "accepted", {"100 us": 3})
    assert told(redis).verdict.kind == Kind.ELSEWHERE.value


def test_a_backend_whose_stacks_show_its_client_is_acquitted() -> None:
    """A healthy server that could not be told."""
    quiet = told(backend(talking=10, cpu_user="1 ms").exchange("port:5432", "accepted", {"100 us": 3}))
    assert quiet.verdict.kind == Kind.ELSEWHERE.value and not locks(quiet)
    other = backend(talking=10, cpu_user="1 ms").thread("postgres", pid=200)  # of which there is no stack
    assert told(other).verdict.kind == Kind.CANNOT_TELL.value
    assert told(sampled("wait.events", [])).verdict.kind == Kind.CANNOT_TELL.value  # its callers have no names


def test_the_query_that_tells_is_named() -> None:
    [perhaps] = locks(told(backend(cpu_user="1 ms")))
    assert perhaps.remedy[0].text.startswith('psql -c "SELECT pid, pg_blocking_pids(pid)')
    assert (perhaps.id, perhaps.severity, perhaps.mechanism) == (LOCK, "info", Mechanism.UNDETERMINED.value)
    assert not locks(told(backend("redis", cpu_user="1 ms")))


def test_the_query_goes_to_the_port_that_is_served() -> None:
    def typed(*ports: int) -> str:
        builder = backend(cpu_user="1 ms")
        for port in ports:
            builder.exchange(f"port:{port}", "accepted", {"1 ms": 3})
        return next(each.remedy[0].text for each in told(builder).findings if each.id == LOCK)

    assert typed(5433).startswith('psql -p 5433 -c "SELECT')
    for ports in ((), (5432,), (5433, 5434), (5432, 5433)):
        assert typed(*ports).startswith('psql -c "SELECT'), ports


def test_stacks_prove_how_much_of_the_idle_time_is_for_locks() -> None:
    report = told(backend(locking=30, talking=10, cpu_user="1 ms"))
    assert (report.verdict.kind, report.verdict.ids) == (Kind.CAUSE.value, [LOCK])
    assert report.verdict.text.startswith("postgres (100) waits for PostgreSQL's locks (7.50 s).")
    assert (report.findings[0].severity, report.findings[0].idle_ns) == ("warning", 7_499_250_000)
    assert "(ProcSleep): the sessions that hold them are the cause." in report.findings[0].claim


def test_backends_are_counted() -> None:
    """Three behind one LOCK TABLE, and nobody's stack but at the end."""
    builder = sampled("wait.events", [SET, LATCH, "CheckpointerMain (postgres)"])
    for pid in (201, 202, 203):
        builder.thread("postgres", pid=pid)
        scan = [SET, LEFT, LATCH, "ProcSleep (postgres)", "UnlockRelationId (postgres)"]
        builder.stack("wait", "wait.events", pid=pid, tid=pid, user=[EPOLL], scan=scan, weight="10 s")
    assert told(builder).verdict.text.startswith("3 backends wait for PostgreSQL's locks (30.0 s).")


@pytest.mark.parametrize(
    "scan",
    [
        [SET, "secure_read (postgres)", "ProcSleep (postgres)"],  # left by an earlier call, further out
        [SET, LATCH, "WalWriterMain (postgres)", "LockAcquireExtended (postgres)"],
        ["ProcSleep (postgres)"],
    ],
)
def test_a_name_left_by_an_earlier_call_is_no_wait_for_a_lock(scan: list[str]) -> None:
    assert not any(each.severity == "warning" for each in told(sampled("wait.events", scan)).findings)


def test_a_small_fault_does_not_hide_them_and_a_busy_server_has_none() -> None:
    flush = {"disk.flush": 500_000_000}
    slow = finding("DISK-FLUSH-SLOW", flush, "Flushes are slow.")
    small = made(backend(locking=30, disk_flush="500 ms").model(), slow)
    assert small.verdict.text.startswith("postgres (100) waits for PostgreSQL's locks (9.50 s).")
    assert "Flushes are slow (" in small.verdict.text
    unproven = made(backend(disk_flush="500 ms").model(), slow)
    assert unproven.verdict.text.startswith("Flushes are slow.")
    assert [each.id for each in unproven.findings] == ["DISK-FLUSH-SLOW", LOCK]
    assert "PostgreSQL" not in told(backend(cpu_user="9 s")).verdict.text


def test_locks_waited_for_are_not_those_of_a_slow_peer() -> None:
    peer = finding("NET-PEER-SLOW", {"net.receive": 10**9}, "10.0.0.7:80 answers slowly.")
    assert made(backend(locking=3, net_receive="1 s").model(), peer).verdict.kind == Kind.CAUSES.value
    assert made(backend(talking=3, net_receive="1 s").model(), peer).verdict.kind == Kind.ELSEWHERE.value


def test_sqlite_asks_again_for_a_lock_by_nobodys_choice() -> None:
    """It read "sleeps on a timer"."""
    builder = sampled("wait.timer", [*SLEPT, BUSY], "app", "clock_nanosleep (libc.so.6)")
    text = told(builder).verdict
    assert text.kind == Kind.CAUSE.value and "on a timer" not in text.text and sleep(builder.model()) is None
    assert text.text.startswith("app (100) waits for SQLite's locks (10.0 s).")
    assert "lslocks" in told(builder).findings[0].remedy[0].text
    nameless = sampled("wait.timer", [*SLEPT, "0x1f (libsqlite3.so.0)"], "app", "clock_nanosleep (libc.so.6)")
    assert told(nameless).verdict.text.startswith("app (100) waits for SQLite's locks (10.0 s)")


@pytest.mark.parametrize(
    "scan",
    [
        [*SLEPT, "backoff (app)", BUSY],  # left by an earlier call
        [*SLEPT, "unixSleep (libsqlite3.so.0)", "sqlite3_sleep (libsqlite3.so.0)", "retry (app)"],
        [BUSY],
        [],
    ],
)
def test_a_sleep_of_the_programs_own_stays_its_choice(scan: list[str]) -> None:
    builder = sampled("wait.timer", scan, "app", "clock_nanosleep (libc.so.6)")
    assert not any(each.id == LOCK for each in told(builder).findings)
    assert "on a timer" in told(builder).verdict.text


def test_a_moment_behind_a_lock_is_not_worth_a_word() -> None:
    assert not locks(told(backend(locking=5, talking=95)))
    assert locks(told(backend(locking=15, talking=85)))


def test_calls_to_a_database_without_a_statement_are_not_measured() -> None:
    def lacking(port: int, **options: bool) -> list[str]:
        builder = Builder(**options).thread("app", cpu_user="1 s")
        builder.exchange(f"peer:10.0.0.1:{port}", "connected", {"1 ms": 3}).exchange(
            "port:5432", "accepted", {"1 ms": 3}
        )
        return [f"{each.what}: {each.reason}" for each in builder.model().not_measured if each.feature == sql_sent.SENT]

    [said] = lacking(5432)
    assert said.startswith("SQL statements sent to 10.0.0.1:5432") and "among 3 calls: encrypted" in said
    assert not lacking(54321)
