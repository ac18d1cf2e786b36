"""Which statement keeps sessions from a table, by its kind and by how long it ran."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.sql.table_lockers import table_locker
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support.judging import finding
from unit.test_findings_sql import ROW, TABLE, WAIT, behind, holder, server
from unit.test_findings_sql_slow_query import statement

S = 1_000_000_000


def locked(name: str, *, own_s: int = 6, lock_s: int = 0, key: str = TABLE) -> Model:
    """Sessions wait for a table of which the holder computes, and a statement ran for so long."""
    builder = behind(holder(server(key=key), "cpu.user", "9 s"), "cpu.user", "30 s", key=key)
    accounts = [schema.PartSum("cpu.user", own_s * S), schema.PartSum("lock.database", lock_s * S)]
    builder.line(statement(3, (own_s + lock_s) * S // 3, own_s * S, name=name, accounts=accounts))
    return builder.model()


@pytest.mark.parametrize(
    "name",
    [
        "VACUUM FULL orders",
        "vacuum (VERBOSE, FULL) orders;",
        "ALTER TABLE orders ADD COLUMN a integer",
        "REFRESH MATERIALIZED VIEW totals",
        "CREATE INDEX ON orders (a)",
    ],
)
def test_a_statement_that_locks_tables_and_runs_long_is_named(name: str) -> None:
    """Sessions waited for a table, "and whoever holds them runs its own code"."""
    found = finding(locked(name), WAIT)
    assert f'held by "{name.rstrip(";")}"' in found.headline and "pg_cancel_backend" in found.remedies[0].text
    assert any("3 times, 6.00 s without its own waits for locks" in each.text for each in found.evidence)


@pytest.mark.parametrize(
    "name",
    [
        "SELECT * FROM orders",
        "VACUUM orders",
        "CREATE INDEX CONCURRENTLY ON orders (a)",
        "REFRESH MATERIALIZED VIEW CONCURRENTLY totals",
        "UPDATE orders SET a = ?",
        "LOCK TABLE orders",
        "VACUUM (FULL off) orders",
        "ALTER TABLE orders VALIDATE CONSTRAINT a",
    ],
)
def test_others_lock_no_table(name: str) -> None:
    assert table_locker(locked(name), 0) is None


def test_one_that_waits_for_the_lock_itself_has_not_got_it() -> None:
    assert table_locker(locked("ALTER TABLE orders ADD COLUMN a integer", own_s=0, lock_s=9), 0) is None


def test_one_that_ran_far_shorter_than_a_session_waited_is_not_the_reason() -> None:
    assert "held by" not in finding(locked("REFRESH MATERIALIZED VIEW totals", own_s=1), WAIT).headline


def test_locks_of_rows_are_not_theirs() -> None:
    assert "VACUUM" not in finding(locked("VACUUM FULL orders", key=ROW), WAIT).headline
