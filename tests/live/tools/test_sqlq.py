"""sqlq.bt: every statement is counted, takes as long as it sleeps, and shows no literal."""

from __future__ import annotations

import os
import re

import pytest

from live.support.bpftrace import refused
from live.support.fixtures import Cleanup, Trace
from live.support.postgres import Statements, need_postgres

SLEEP_NS = 20_000_000

pytestmark = pytest.mark.may_skip("postgresql")


@pytest.mark.parametrize("protocol", ["simple", "extended"])
def test_statements_that_sleep(protocol: str, cleanup: Cleanup, trace: Trace) -> None:
    need_postgres()
    session = cleanup.enter_context(Statements("SELECT pg_sleep(0.02), 'secret'", 23, protocol=protocol))
    script = trace("sqlq", session.pid)
    truth = session.run()
    seen = script.stop(example=protocol == "extended")
    assert "0.02" not in seen.text and "secret" not in seen.text
    [name] = [key[0] for key in seen.maps["@statements"] if "pg_sleep" in key[0]]
    statements = seen.stats("@statements", name)
    assert statements.count == 23 <= sum(seen.histogram("@statement_ns").values())
    assert 23 * SLEEP_NS <= statements.total < truth["elapsed_ns"]
    assert statements.total == pytest.approx(23 * SLEEP_NS, rel=0.25)
    assert SLEEP_NS <= seen.number("@longest_ns", name) < statements.total


@pytest.mark.parametrize("text", ["'secret'", "/* secret */ SELECT 'secret'", "SELECT 5 AS secret"])
def test_nothing_behind_a_literal_is_shown(text: str, cleanup: Cleanup, trace: Trace) -> None:
    """That a statement fails changes nothing."""
    need_postgres()
    session = cleanup.enter_context(Statements(text, 1))
    script = trace("sqlq", session.pid)
    try:
        session.run()
    except RuntimeError as error:
        assert "syntax error" in str(error)
    seen = script.stop()
    shown = {key[0] for key in seen.maps["@statements"]}
    assert shown & {"", "SELECT", "SELECT "} and "secret" not in seen.text and "5" not in "".join(shown)


def test_others_are_not_traced(cleanup: Cleanup, trace: Trace) -> None:
    need_postgres()
    idle, busy = (cleanup.enter_context(Statements("SELECT pg_sleep(0.02)", 23)) for _ in range(2))
    script = trace("sqlq", idle.pid)
    busy.run()
    assert "pg_sleep" not in script.stop().text


def test_a_program_without_its_probe_is_refused(version: str) -> None:
    done = refused(version, "sqlq", os.getpid())
    assert done.returncode != 0 and "Tracing" not in done.stdout, done
    assert done.stderr.count("ERROR") == 1 and re.search("statement__status|attach points", done.stderr), done
