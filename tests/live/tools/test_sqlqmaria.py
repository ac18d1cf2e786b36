"""sqlqmaria.bt: every statement is counted, takes as long as it sleeps, and shows no literal."""

from __future__ import annotations

import os
import re

import pytest

from live.support.bpftrace import refused
from live.support.fixtures import Cleanup, Trace
from live.support.mariadb import MariaStatements, need_mariadb

COUNT = 23
SLEEP_NS = 50_000_000

pytestmark = pytest.mark.may_skip("mariadb-server")


@pytest.mark.parametrize("prepared", [False, True])
def test_statements_that_sleep(prepared: bool, cleanup: Cleanup, trace: Trace) -> None:
    """However the client asks for them."""
    need_mariadb()
    session = cleanup.enter_context(MariaStatements("SELECT SLEEP(0.05), 'secret'", COUNT, prepared=prepared))
    script = trace("sqlqmaria", session.pid)
    truth = session.run()
    seen = script.stop(example=not prepared)
    assert "0.05" not in seen.text and "secret" not in seen.text
    [name] = [key[0] for key in seen.maps["@statements"]]
    assert name.startswith("SELECT SLEEP")
    statements = seen.stats("@statements", name)
    assert statements.count == COUNT == sum(seen.histogram("@statement_ns").values())
    assert COUNT * SLEEP_NS <= statements.total < truth["elapsed_ns"]
    assert statements.total == pytest.approx(COUNT * SLEEP_NS, rel=0.1)
    assert SLEEP_NS <= seen.number("@longest_ns", name) < statements.total
    assert seen.unseen == 0


def test_many_short_statements(cleanup: Cleanup, trace: Trace) -> None:
    """Not one is lost, and they take most of the time that their client measures."""
    need_mariadb()
    session = cleanup.enter_context(MariaStatements("SELECT BENCHMARK(20000, SHA2('x', 512))", 211))
    script = trace("sqlqmaria", session.pid)
    truth = session.run()
    statements = script.stop().stats("@statements")
    assert statements.count == 211
    assert 0.8 * truth["elapsed_ns"] < statements.total < truth["elapsed_ns"]


@pytest.mark.parametrize("text", ["'secret'", "/* secret */ DO 'secret'", 'DO "secret"', "DO 5, 'secret'"])
def test_nothing_behind_a_literal_is_shown(text: str, cleanup: Cleanup, trace: Trace) -> None:
    """That a statement fails changes nothing."""
    need_mariadb()
    session = cleanup.enter_context(MariaStatements(text, 1))
    script = trace("sqlqmaria", session.pid)
    try:
        session.run()
    except RuntimeError as error:
        assert "SQL syntax" in str(error)
    seen = script.stop()
    [[shown]] = seen.maps["@statements"]
    assert shown.strip() in ("", "DO") and "secret" not in seen.text


def test_a_prepared_statement_that_fails(cleanup: Cleanup, trace: Trace) -> None:
    need_mariadb()
    failing = "SELECT SLEEP(0.05), (SELECT 1 UNION SELECT 2)"
    session = cleanup.enter_context(MariaStatements(failing, 1, prepared=True))
    script = trace("sqlqmaria", session.pid)
    with pytest.raises(RuntimeError, match="more than 1 row"):
        session.run()
    seen = script.stop()
    [[name]] = seen.maps["@statements"]
    assert name.startswith("SELECT SLEEP") and seen.stats("@statements").total >= SLEEP_NS


def test_others_are_not_traced(cleanup: Cleanup, trace: Trace) -> None:
    need_mariadb()
    idle, busy = (cleanup.enter_context(MariaStatements("DO NULL", 23)) for _ in range(2))
    script = trace("sqlqmaria", idle.pid)
    busy.run()
    assert set(script.stop().maps) <= {"@unseen"}


def test_a_program_without_its_functions_is_refused(version: str) -> None:
    done = refused(version, "sqlqmaria", os.getpid())
    assert done.returncode != 0 and "Tracing" not in done.stdout, done
    assert done.stderr.count("ERROR") == 1 and re.search("mysqld_port|mysqld_main", done.stderr), done
