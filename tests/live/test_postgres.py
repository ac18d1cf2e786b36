"""PostgreSQL says what its sessions wait for: the word is read at each switch, and of those that sleep on."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.waits.postgres_wait_names import BY_VERSION, CLASSES, CLIENT, name_of
from perfdiag.recording import schema

from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.postgres import Statements, need_postgres
from live.support.recording import Recording
from unit.support.waiting import until

WAITERS = 20
IN_TRANSACTION = "postgres:6:0:transaction"
CHANGE = "UPDATE hot SET n = n + 1;\n"

pytestmark = pytest.mark.may_skip("postgresql")


class Session:
    """A client that says what it is told to, and its process in the server."""

    def __init__(self, server: Statements) -> None:
        self.process = subprocess.Popen(
            [
                "psql",
                "--quiet",
                "--no-align",
                "--tuples-only",
                "--host",
                server.cluster.directory,
                "postgres",
                "postgres",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = int(self.ask("SELECT pg_backend_pid();\n"))

    def say(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def ask(self, text: str) -> str:
        self.say(text)
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def sessions(server: Statements, count: int) -> Iterator[list[Session]]:
    made: list[Session] = []
    try:
        for _ in range(count):
            made.append(Session(server))
        yield made
    finally:
        for each in made:
            each.end()


@pytest.fixture(scope="module")
def server() -> Iterator[Statements]:
    need_postgres()
    with Statements("SELECT 1", 1) as made, sessions(made, 1) as [maker]:
        maker.ask("CREATE TABLE hot AS SELECT 1 AS n; SELECT 'made';\n")
        yield made


def waits(recording: Recording, account: str) -> dict[tuple[int, str], int]:
    return {(row.pid, row.object): row.sum_ns for row in recording.details(account)}


def asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.parametrize("released", [True, False])
def test_who_holds_a_row_and_waits_for_its_client(
    released: bool, server: Statements, attach: Attach, cleanup: Cleanup
) -> None:
    """Twenty sessions wait for it; where it is not released, all of them sleep from before the window until its end."""
    holder, *waiters = cleanup.enter_context(sessions(server, 1 + WAITERS))
    holder.ask(f"BEGIN; {CHANGE} SELECT 'changed';\n")
    for each in waiters:
        each.say(CHANGE)
    until(lambda: all(asleep(each.pid) for each in waiters), "all wait")
    time.sleep(1.2)  # each has looked for a deadlock after deadlock_timeout, 1 s, and sleeps on
    recorder = attach(server.pid)
    begin = time.monotonic_ns()
    time.sleep(1)
    if released:
        waited_ns = time.monotonic_ns() - begin
        holder.say("COMMIT;\n")
        time.sleep(0.5)
    recording = recorder.stop()
    if not released:
        waited_ns = recording.footer.at_ns - begin  # writing it down takes a busy host long
    locks = waits(recording, "lock.database")
    assert {pid for pid, key in locks if key.startswith("postgres:3:")} == {each.pid for each in waiters}
    assert {key for _, key in locks} >= {"postgres:3:5", "postgres:3:4"}, "transactionid, and tuple for those behind"
    for each in waiters:
        ns = sum(ns for (pid, key), ns in locks.items() if pid == each.pid and key.startswith("postgres:3:"))
        assert ns == pytest.approx(waited_ns, rel=0.25)
    idle = waits(recording, "wait.events")
    assert idle[holder.pid, IN_TRANSACTION] == pytest.approx(waited_ns, rel=0.25)
    [application] = recording.of(schema.Application)
    assert (application.kind, application.reads) == ("postgresql", "my_wait_event_info")
    assert application.processes >= 1 + WAITERS
    first = diagnose(model_of(recording)).findings[0]
    assert first.id == "SQL-IDLE-IN-TRANSACTION" and first.others[0].pid == holder.pid
    assert first.share > 0.9


def test_sessions_that_only_wait_for_their_clients_are_idle(
    server: Statements, attach: Attach, cleanup: Cleanup
) -> None:
    made = cleanup.enter_context(sessions(server, WAITERS))
    recorder = attach(server.pid)
    time.sleep(1)
    recording = recorder.stop()
    assert not recording.details("lock.database")
    idle = waits(recording, "wait.events")
    assert all((each.pid, "postgres:6:0") in idle for each in made)
    assert not [key for key in idle if key[1] == IN_TRANSACTION]
    assert not [each.id for each in diagnose(model_of(recording)).findings if each.id.startswith("SQL")]


def test_sessions_that_begin_in_the_window_and_sleep_where_they_say(
    server: Statements, attach: Attach, cleanup: Cleanup
) -> None:
    recorder = attach(server.pid)
    [session] = cleanup.enter_context(sessions(server, 1))
    session.ask("SELECT pg_sleep(0.5);\n")
    session.ask(f"{CHANGE} SELECT 'committed';\n")
    recording = recorder.stop()
    listening = [pid for pid, _ in waits(recording, "ipc.unix") if pid == server.pid]
    assert not listening, "select() of one socket that listens is no wait for a peer"
    assert [pid for pid, _ in waits(recording, "net.accept") if pid == server.pid]
    sleeps = {key[1]: ns for key, ns in (waits(recording, "wait.events") | waits(recording, "wait.timer")).items()}
    assert sleeps["postgres:9:2"] == pytest.approx(500e6, rel=0.05)
    said = [line for line in recording.of(schema.DatabaseWait) if line.pid == session.pid]
    assert [line for line in said if line.account == "disk.flush" and line.object.startswith("postgres:10:")], said


def test_names_are_those_of_the_installed_server(server: Statements, cleanup: Cleanup) -> None:
    """What a session waits for stands in pg_stat_activity under the name that the list has."""
    [session, other] = cleanup.enter_context(sessions(server, 2))
    major = int(other.ask("SELECT current_setting('server_version_num')::int / 10000;\n"))
    asked = f"SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity WHERE pid = {session.pid};\n"
    assert other.ask(asked) == f"{CLASSES[CLIENT]} ClientRead"
    if major not in BY_VERSION:
        pytest.skip(f"no list of names of PostgreSQL {major}")
    session.say("SELECT pg_sleep(1);\n")
    until(lambda: other.ask(asked) == f"{CLASSES[9]} {name_of(9, 2, major)}", "it sleeps")
