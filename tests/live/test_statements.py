"""SQL statements, measured in the server: each is counted, its time is right, and nothing of its literals is kept."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema
from perfdiag.render.json_document import render
from perfdiag.report import assembly

from live.support.fixtures import Attach
from live.support.mariadb import MariaStatements, MySqlStatements, need_mysql
from live.support.model import check_model, model_of
from live.support.postgres import Statements, need_postgres
from live.support.recording import Recording

COUNT = 2000
SLEEPS = 20
SLEEP_NS = 50_000_000
MARKER = "marker_1f5a9"
TEXT = f"SELECT '{MARKER}', $${MARKER}$$, E'\\'{MARKER}', count(*) /* {MARKER} */ FROM pg_class WHERE oid IN (1, 2, 3)"
DIGEST = "SELECT ?, E?, count(*) FROM pg_class WHERE oid IN (?);"
SESSIONS = {"mariadb": MariaStatements, "mysql": MySqlStatements}

pytestmark = pytest.mark.may_skip("postgresql")


@pytest.fixture(scope="module")
def server() -> Iterator[Statements]:
    need_postgres()
    with Statements(TEXT, COUNT) as made:
        yield made


def statements(recording: Recording) -> dict[str, schema.Statement]:
    return {line.name or line.kind: line for line in recording.of(schema.Statement)}


def check_sums(line: schema.Statement) -> None:
    """What statements went to adds up to how long they took, of all together and of the longest."""
    assert sum(part.sum_ns for part in line.accounts) == pytest.approx(line.sum_ns, rel=0.01)
    assert sum(part.sum_ns for part in line.max_accounts) == pytest.approx(line.max_ns, rel=0.01)
    assert sum(number for _, number in line.buckets) == line.count


def ask(server: Statements, text: str) -> None:
    command = ["psql", "--quiet", "--host", server.cluster.directory, "--username", "postgres", "postgres"]
    done = subprocess.run([*map(str, command)], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_each_statement_is_counted_and_none_of_its_literals_kept(
    protocol: str, server: Statements, attach: Attach
) -> None:
    server.protocol = protocol
    recorder = attach(server.pid)
    server.run()
    recording = recorder.stop()
    check_model(recording)
    [line] = [line for name, line in statements(recording).items() if name.startswith("SELECT ?")]
    assert line.name.rstrip(";") == DIGEST.rstrip(";") and not line.cut
    assert line.count == COUNT
    check_sums(line)
    lost = recording.footer.lost
    assert lost["statements_full"] == lost["statements_torn"] == 0
    assert MARKER.encode() not in recording.path.read_bytes()
    model = model_of(recording)
    report = assembly.make(model, diagnose(model), Config())
    [told] = [each for each in report.statements if each.name.startswith("SELECT ?")]
    assert told.whole.count == COUNT and told.whole.p99_ns is not None
    assert MARKER.encode() not in render(report)


def test_another_recorder_with_probes_in_the_same_program_changes_nothing(server: Statements, attach: Attach) -> None:
    """The kernel sets the first one's probes in each mapping of the program, also in that of who reads it."""
    server.protocol = "simple"
    recorders = [attach(server.pid), attach(server.pid)]
    server.run()
    counts = [line.count for each in recorders for line in each.stop().of(schema.Statement) if line.name == DIGEST]
    assert counts == [COUNT, COUNT]


def test_a_statement_takes_as_long_as_it_sleeps(server: Statements, attach: Attach) -> None:
    recorder = attach(server.pid)
    ask(server, f"SELECT pg_sleep({SLEEP_NS / 1e9});\n" * SLEEPS)
    recording = recorder.stop()
    [line] = [line for name, line in statements(recording).items() if "pg_sleep" in name]
    assert line.count == SLEEPS
    check_sums(line)
    slept = {part.account: part.sum_ns for part in line.accounts}
    assert slept["wait.events"] == pytest.approx(SLEEPS * SLEEP_NS, rel=0.02)
    others = sum(ns for account, ns in slept.items() if account not in ("wait.events", "runq.busy", "runq.waking"))
    assert others < 0.02 * SLEEPS * SLEEP_NS


def test_a_statement_that_is_refused_has_no_text(server: Statements, attach: Attach) -> None:
    recorder = attach(server.pid)
    ask(server, f"SELECT FROM {MARKER} WHERE;\nSELECT 1;\n")
    recording = recorder.stop()
    found = statements(recording)
    assert found["not_run"].count == 1
    assert found["SELECT ?;"].count == 1
    assert MARKER.encode() not in recording.path.read_bytes()


def test_nothing_is_measured_without_applications(server: Statements, attach: Attach) -> None:
    recorder = attach(server.pid, first=["no-apps"])
    ask(server, "SELECT 1;\n")
    assert not statements(recorder.stop())


@pytest.mark.parametrize("name", SESSIONS)
def test_statements_of_mariadb_and_mysql(name: str, attach: Attach) -> None:
    need_mysql(name)
    with SESSIONS[name](f"SELECT '{MARKER}', \"{MARKER}\", 1 FROM dual # {MARKER}", COUNT) as session:
        recorder = attach(session.pid)
        session.run()
        recording = recorder.stop()
    line = statements(recording)["SELECT ? FROM dual"]
    assert (line.server, line.count) == (name, COUNT)
    check_sums(line)
    assert MARKER.encode() not in recording.path.read_bytes()
    [application] = recording.of(schema.Application)
    assert (application.kind, application.reads, application.lack) == (name, "dispatch_command", None)
    assert application.version.startswith(("10.", "11.") if name == "mariadb" else "9.")


@pytest.mark.parametrize("name", SESSIONS)
def test_a_sleep_in_mariadb_and_mysql(name: str, attach: Attach) -> None:
    need_mysql(name)
    with SESSIONS[name]("SELECT sleep(0.05)", SLEEPS) as session:
        recorder = attach(session.pid)
        session.run()
        recording = recorder.stop()
    line = statements(recording)["SELECT sleep(?)"]
    assert line.count == SLEEPS
    check_sums(line)
    waited = sum(part.sum_ns for part in line.accounts if part.account.startswith(("wait.", "lock.")))
    assert waited == pytest.approx(SLEEPS * SLEEP_NS, rel=0.02)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_prepared_statement_has_no_text(name: str, attach: Attach) -> None:
    need_mysql(name)
    with SESSIONS[name](f"SELECT '{MARKER}'", SLEEPS, prepared=True) as session:
        recorder = attach(session.pid)
        session.run()
        recording = recorder.stop()
    assert statements(recording)["prepared"].count == SLEEPS


MIB = 1 << 20
HOSTILE = (
    f"SELECT LENGTH('{'x' * MIB}'), '{MARKER}' FROM dual".encode(),
    f"SELECT '{MARKER}', LENGTH('".encode() + bytes(range(1, 39)) + bytes(range(40, 92)) + b"') FROM dual",
    b"SELECT LENGTH('\xff\xfe\xc3" + MARKER.encode() + b"') FROM dual",
    b"\x80\xff\x00\x01 " + MARKER.encode(),
)


@pytest.mark.parametrize("text", HOSTILE, ids=["a MiB", "binary", "no UTF-8", "garbage"])
def test_hostile_statements_are_counted_and_nothing_of_them_kept(text: bytes, attach: Attach) -> None:
    need_mysql("mariadb")
    with MariaStatements("SELECT 1", SLEEPS) as session:
        session.text = text
        recorder = attach(session.pid)
        for _ in range(SLEEPS):
            with contextlib.suppress(RuntimeError):  # the server refuses what is no SQL
                session.ask()
        session.ping()
        recording = recorder.stop()
    found = [line for line in recording.of(schema.Statement) if line.kind == "run"]
    assert sum(line.count for line in found) == SLEEPS and not recording.footer.lost["statements_full"]
    for line in found:
        check_sums(line)
    assert MARKER.encode() not in recording.path.read_bytes()


def test_each_statement_is_counted_where_threads_come_from_a_pool(attach: Attach) -> None:
    need_mysql("mariadb")
    with MariaStatements("SELECT 1 FROM dual", COUNT, options=("--thread-handling=pool-of-threads",)) as session:
        recorder = attach(session.pid)
        session.run()
        recording = recorder.stop()
    line = statements(recording)["SELECT ? FROM dual"]
    assert line.count == COUNT
    check_sums(line)


def test_a_statement_has_a_limit_of_its_own(server: Statements, attach: Attach) -> None:
    """It is typed with literals or without; one of another text has the limit of all others."""
    recorder = attach(server.pid, slo_names={"SELECT pg_sleep(9)": 2 * SLEEP_NS, "COMMIT": 1000 * SLEEP_NS})
    fast, slow = (f"SELECT pg_sleep({ns / 1e9});\n" for ns in (SLEEP_NS, 3 * SLEEP_NS))
    ask(server, f"{fast * SLEEPS}{slow * 3}SELECT 1, pg_sleep(0.3);\n")
    recording = recorder.stop()
    found = statements(recording)
    assert (found["SELECT pg_sleep(?);"].count, found["SELECT pg_sleep(?);"].over_slo) == (SLEEPS + 3, 3)
    assert found["SELECT ?, pg_sleep(?);"].over_slo == 0
    limits = {each.name: (each.limit_ns, each.statement) for each in recording.header.options.slo_names}
    assert limits == {"SELECT pg_sleep(?)": (2 * SLEEP_NS, True), "COMMIT": (1000 * SLEEP_NS, True)}
    told = next(each for each in diagnose(model_of(recording)).findings if each.id == "SLO-BREACH")
    assert told.headline == "3 of 23 SELECT pg_sleep(?); took over 100 ms"
