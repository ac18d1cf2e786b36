"""Locks that statements of MariaDB wait for: by a few named stacks, and never for who had no statement yet."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.awaited_threads import FUTEX, IDLE, LOCKS, OTHER, WORKER, S, parked, seen, serving
from unit.support.judging import finding, findings
from unit.test_findings_sql_slow_query import statement

THIRD, FOURTH = "futex:0x7f80", "futex:0x7fc0"
WAIT = ["pthread_cond_timedwait (libc.so.6)"]
NAMED = [*WAIT, "thr_multi_lock (mariadbd)", "mysql_lock_tables (mariadbd)"]


def tables(*texts: str, named: int = 3, stack: list[str] = NAMED) -> Builder:
    """Readers that wait for the lock of a table: a writer came later, got it first, and waited for a report itself."""
    builder = serving(threads=3, waker=WORKER + 1, told_ms=5000)
    builder.row("wait.parked", OTHER, "1 s", count=9)
    builder.stack("wait", "wait.parked", scan=stack, object=OTHER, count=named, weight="1 s")
    builder.stack("wait", "wait.parked", scan=WAIT, object=FUTEX, count=40, weight="9 s")
    for reader, futex in enumerate((THIRD, FOURTH), start=400):
        builder.thread("reader", tid=reader, cpu_user="10 ms", rest="net.request").reads(20)
        builder.row("wait.parked", futex, "5 s", count=40)
        parked(builder, 5 * S, futex, count=40)
    for writer, futex in enumerate((FUTEX, THIRD, FOURTH), start=1):
        builder.thread("session", tid=WORKER + writer, cpu_user="10 ms", rest="net.request").reads(20)
        seen(builder, "net.request", "5 s", WORKER + writer, "port:3306", futex, alone=True)
    builder.line(schema.Application(100, "mariadb", "10.11", 1, ""))
    for text in texts:
        builder.line(statement(20, 300_000_000, 1_000_000, server="mariadb", name=text))
    return parked(builder, S, OTHER, count=9)


def test_waits_of_statements_without_a_name_are_for_the_lock_of_those_that_have_one() -> None:
    model = tables("SELECT a FROM pages WHERE id = ?", "UPDATE pages SET a = ?").model()
    found = finding(model, LOCKS)
    assert found.severity is Severity.WARNING and "MariaDB's table locks" in found.headline
    assert sum(found.claims.values()) >= 15 * S and not findings(model, IDLE)


@pytest.mark.parametrize("end", ["COMMIT", "SET autocommit = ?", "unlock tables", "SELECT RELEASE_LOCK(?)"])
def test_whoever_ends_transactions_may_keep_locks_for_its_client(end: str) -> None:
    found = finding(tables("UPDATE pages SET a = ?", end).model(), IDLE)
    assert found.headline.startswith("Sessions hold locks in transactions and wait for their clients")


def test_statements_whose_text_was_not_seen_may_end_transactions() -> None:
    builder = tables("UPDATE pages SET a = ?")
    builder.line(statement(1, 1_000_000, 1_000_000, server="mariadb", kind="unread", name=""))
    assert finding(builder.model(), IDLE)


def test_few_named_stacks_may_be_of_other_statements() -> None:
    model = tables("UPDATE pages SET a = ?", named=2).model()
    assert not findings(model, IDLE), "who had no statement yet held nothing"
    assert all(sum(each.claims.values()) <= S for each in findings(model, LOCKS))


def test_stacks_of_two_kinds_of_locks_name_no_other_wait() -> None:
    builder = tables("UPDATE pages SET a = ?")
    builder.stack("wait", "wait.parked", scan=[*WAIT, "MDL_wait::timed_wait (mariadbd)"], object=FUTEX, weight="1 ms")
    assert builder.model().rows_of("wait.parked", key=THIRD)
