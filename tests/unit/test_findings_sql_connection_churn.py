"""SQL-CONNECTION-CHURN: a process for each connection, and a connection for each statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.judging import check, finding, outcomes
from unit.test_findings_sql_slow_query import statement

ID, MS, S = "SQL-CONNECTION-CHURN", 1_000_000, 1_000_000_000
SERVER = schema.Application(pid=100, kind="postgresql", version="15.18", processes=6, reads="my_wait_event_info")


def server(sessions: int = 800, statements: int = 850, *, wall: str = "20 s", comm: str = "postgres") -> Model:
    """A server whose sessions take 5 ms of CPU time each, 4 of them outside of statements of 1 ms."""
    builder = Builder(comm="postgres", window="10 s").thread("postgres", cpu_user="100 ms", wait_events="9.9 s")
    times: dict[str, Any] = {"cpu_user": f"{sessions} ms", "cpu_kernel": f"{sessions * 4} ms", "rest": "wait.events"}
    builder.exited(comm, threads=sessions, processes=sessions, wall=wall, **times).line(SERVER)
    return builder.line(statement(statements, MS, statements * MS)).model()


def test_sessions_that_do_little_else_than_begin_and_end() -> None:
    found = finding(server(), ID)
    assert (
        found.severity is Severity.WARNING
        and found.headline == "Clients connect 80 times a second, for 1.1 statements each"
    )
    outside_ns = 800 * 5 * MS - 850 * MS
    assert sum(found.claims.values()) == outside_ns and found.claims["cpu.kernel"] == pytest.approx(0.8 * outside_ns)
    ranked = diagnose(server()).findings
    assert ranked[0].id == ID and all(each.claimed_ns == 0 for each in ranked if each.id == "PROC-CHILD-SLOW")


@pytest.mark.parametrize(
    "model",
    [
        server(statements=4000),  # five of each session: the connection was used
        server(wall="80 s"),  # each lived for 100 ms
        server(comm="archive"),  # other children of the server
    ],
)
def test_sessions_that_are_used(model: Model) -> None:
    check(model, ID)


@pytest.mark.parametrize(("accepted", "clients"), [(1, False), (800, True), (None, True)])
def test_workers_of_a_statement_are_no_clients(accepted: int | None, clients: bool) -> None:
    line = schema.RequestsInside(most=1, levels=[], unseen=0, accepted=accepted)
    model = replace(server(), requests_inside=line)
    assert bool([each for each in outcomes(model, ID) if isinstance(each, Finding)]) is clients


def test_other_servers_make_no_process_for_a_connection() -> None:
    builder = Builder(comm="mariadbd").thread("mariadbd", cpu_user="5 s").line(statement(850, MS, 850 * MS))
    assert outcomes(builder.model(), ID) == []
