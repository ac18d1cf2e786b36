"""SQL-SERVER-WAIT: what sessions of PostgreSQL say they wait for, where that is another process of the server."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import check, finding

ID = "SQL-SERVER-WAIT"
MS = 1_000_000
CLIENT, GATHER, SHUTDOWN, STANDBY = "postgres:6:0", "postgres:8:11", "postgres:8:5", "postgres:8:47"


def server(*waits: tuple[str, str], count: int = 40) -> Builder:
    """Return a session whose statements wait so, and else for its client."""
    builder = Builder(comm="postgres", pid=100).thread("postgres", pid=100, cpu_user="400 ms")
    builder.line(schema.Application(100, "postgresql", "15.18", 1, "my_wait_event_info"))
    builder.row("wait.events", CLIENT, "1 s", count=count)
    for key, time in waits:
        builder.row("wait.events", key, time, count=count)
    for line in served(count, 90 * MS, {"wait.events": 3200 * MS, "cpu.user": 400 * MS}):
        builder.line(line)
    return builder


def test_workers_that_a_small_statement_waits_for_are_told() -> None:
    """Each count over 20,000 rows started four workers: most of its time was waiting for events, of unknown cause."""
    model = server((GATHER, "2 s"), (SHUTDOWN, "1200 ms")).model()
    found = finding(model, ID)
    assert found.headline == "Statements wait for parallel workers" and found.severity is Severity.WARNING
    assert "IPC: ExecuteGather 63 %, IPC: BgWorkerShutdown 38 %" in found.claim
    assert found.claims == {"wait.events": model.ns("wait.events")}, "all of it that is in requests"
    assert "parallel_setup_cost" in found.remedies[0].text


@pytest.mark.parametrize(("key", "whom"), [(STANDBY, "a synchronous standby"), ("postgres:8:999", "other processes")])
def test_others_have_remedies_of_their_own(key: str, whom: str) -> None:
    found = finding(server((key, "3 s")).model(), ID)
    assert whom in found.headline and "parallel" not in found.remedies[0].text


def test_a_session_that_waits_for_its_client_waits_for_no_process_of_the_server() -> None:
    assert check(server().model(), ID).number == 0
