"""sqlq.py: statements of two servers are counted and timed; all of each is shown, but no literal."""

from __future__ import annotations

import os

import pytest

from live.support.bcc import Program, need_bcc, refused
from live.support.fixtures import Cleanup
from live.support.mariadb import MariaStatements, need_mariadb
from live.support.postgres import Statements, need_postgres

NAME = "sqlq.py"
COUNT = 20
SHORT = 200
SLEEP_MS = 50

pytestmark = pytest.mark.may_skip("python3-bpfcc, mariadb-server, postgresql")


def near(session: MariaStatements | Statements, rows: list[dict[str, str]], elapsed_ns: int) -> None:
    """Check the rows of statements that sleep."""
    [row] = [row for row in rows if "SLEEP" in row["STATEMENT"].upper()]
    assert int(row["COUNT"]) == session.count == COUNT
    assert COUNT * SLEEP_MS <= float(row["TOTAL_ms"]) < elapsed_ns / 1e6
    assert float(row["TOTAL_ms"]) == pytest.approx(COUNT * SLEEP_MS, rel=0.2)
    assert float(row["MEDIAN_ms"]) == pytest.approx(SLEEP_MS, rel=0.1)
    assert SLEEP_MS <= float(row["P99_ms"]) <= float(row["MAX_ms"]) <= float(row["TOTAL_ms"])


@pytest.mark.parametrize("protocol", ["simple", "extended"])
def test_statements_of_postgresql(protocol: str, cleanup: Cleanup, update: bool) -> None:
    """Its session begins after the program has attached."""
    need_postgres()
    session = cleanup.enter_context(Statements("SELECT pg_sleep(0.05), 'secret' AS \"x\"", COUNT, protocol=protocol))
    program = cleanup.enter_context(Program(NAME, session.pid))
    truth = session.run()
    rows = program.stop()
    near(session, rows, truth["elapsed_ns"])
    assert {row["STATEMENT"] for row in rows if "sleep" in row["STATEMENT"]} == {'SELECT pg_sleep(?), ? AS "x";'}


@pytest.mark.parametrize("prepared", [False, True])
def test_statements_of_mariadb(prepared: bool, cleanup: Cleanup, update: bool) -> None:
    need_mariadb()
    text = "SELECT SLEEP(0.05), 'secret' AS `x`"
    session = cleanup.enter_context(MariaStatements(text, COUNT, prepared=prepared))
    program = cleanup.enter_context(Program(NAME, session.pid, update=update))
    truth = session.run()
    if not prepared:  # statements that differ only behind their first literal
        for session.text in (b"DO 1 + 1, SHA2('a', 512)", b"DO 2, SHA2('secret', 512)", b"DO 1, (SELECT 2)"):
            for _ in range(SHORT):
                session.ask()
        session.ping()
    rows = program.stop(example=not prepared)
    near(session, rows, truth["elapsed_ns"])
    shown = {row["STATEMENT"]: int(row["COUNT"]) for row in rows}
    short = ("DO ? + ?, SHA2(?, ...)", "DO ?, SHA2(?, ...)", "DO ?, (SELECT ?)")
    expected = {} if prepared else dict.fromkeys(short, SHORT)
    assert shown == {"SELECT SLEEP(?), ? AS `x`": COUNT, **expected}


def test_a_long_statement_is_cut_off(cleanup: Cleanup) -> None:
    need_mariadb()
    session = cleanup.enter_context(MariaStatements(f"DO NULL {'+ a' * 150} + 'secret'", 1))
    program = cleanup.enter_context(Program(NAME, session.pid))
    with pytest.raises(RuntimeError, match="Unknown column"):
        session.run()
    [row] = program.stop()
    assert row["STATEMENT"].startswith("DO NULL + a") and row["STATEMENT"].endswith("...")
    assert 380 <= len(row["STATEMENT"]) <= 386


def test_a_process_that_is_no_server_is_refused() -> None:
    need_bcc()
    done = refused(NAME, os.getpid())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done
    assert "is no PostgreSQL" in done.stderr
