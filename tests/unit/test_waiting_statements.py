"""The statement that waits for the locks of a session that is idle in a transaction, and what it may lock itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.sql.waiting_statements import with_waiting
from perfdiag.recording import schema

from unit.support.awaited_threads import ID, IDLE, MS, WORKER, S, seen, serving
from unit.support.judging import finding
from unit.test_findings_sql_slow_query import statement

LOCKS_ALL = "InnoDB locks every row it reads (EXPLAIN)"


@pytest.mark.parametrize(
    ("text", "short", "locks"),
    [
        (
            "UPDATE orders SET state = state + ? WHERE token = ?",
            "UPDATE orders ... WHERE token = ?",
            "the UPDATE locks",
        ),
        ("DELETE FROM orders WHERE token = ?", "DELETE FROM orders WHERE token = ?", "the DELETE locks"),
        ("SELECT a FROM b WHERE c = ? FOR UPDATE", "SELECT a FROM b WHERE c = ? FOR UPDATE", "the SELECT locks"),
        ("SELECT a FROM b WHERE c = ?", "SELECT a FROM b WHERE c = ?", ""),
        ("INSERT INTO orders VALUES (?)", "INSERT INTO orders VALUES (?)", ""),
    ],
)
def test_the_statement_that_waits_for_a_session_is_told(text: str, short: str, locks: str) -> None:
    builder = serving(threads=3, waker=WORKER + 1)
    builder.thread("session", tid=WORKER + 1, cpu_user="10 ms", rest="net.request").reads(20)
    seen(builder, "net.request", "15 s", root_tid=WORKER + 1)
    builder.line(schema.Application(100, "mariadb", "10.11", 1, ""))
    parts = [schema.PartSum("wait.parked", 15 * S)]
    builder.line(statement(400, 40 * MS, 0, server="mariadb", name=text, accounts=parts))
    builder.line(statement(400, MS, 0, server="mariadb", name="COMMIT", accounts=[]))
    found = next(each for each in diagnose(builder.model()).findings if each.id == IDLE)
    assert found.headline.endswith(f" waits for its client; statements wait for that: {short}"), found.headline
    assert found.evidence[-1].text.endswith(f"of it in {text}")
    assert len(found.remedies) == 1 + bool(locks)
    assert all(locks in each.text and LOCKS_ALL in each.text for each in found.remedies[1:])


def test_what_innodb_locks_is_not_said_of_another_server() -> None:
    found = replace(finding(serving().model(), ID), id=IDLE)
    told = [
        with_waiting(found, "UPDATE a SET b = ? WHERE c = ?", "UPDATE", server, found.evidence[0])
        for server in ("postgresql", "mysql")
    ]
    assert [len(each.remedies) - len(found.remedies) for each in told] == [0, 1]
