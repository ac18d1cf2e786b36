"""Errors with which SQL servers answer: counted by what they are, told where sleeps follow, and nothing else kept."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model

from live.support.calling import running_server, watched
from live.support.fixtures import Attach, Cleanup
from live.support.postgres import Statements, need_postgres

pytestmark = pytest.mark.quiet  # calls of others end what is looked at here

WINDOW_NS = 1_500_000_000
MARKER = "marker_5e1b"

# Asks one statement after the other, and sleeps after each turn. A path is that of a socket of PostgreSQL.
CLIENT = """
import socket, struct, sys, time
where, protocol, first_bytes, turn = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
READY = b"Z" + struct.pack(">I", 5)
if where.startswith("/"):
    server = socket.socket(socket.AF_UNIX)
    server.connect(where)
    start = struct.pack(">I", 196608) + b"user\\0postgres\\0database\\0postgres\\0\\0"
    server.sendall(struct.pack(">I", len(start) + 4) + start)
    while server.recv(10_000)[-6:-1] != READY:
        pass
else:
    server = socket.create_connection(("127.0.0.1", int(where)))

def ask(text):
    if protocol == "postgresql":
        server.sendall(b"Q" + struct.pack(">I", len(text) + 5) + text + b"\\0")
    elif protocol == "vectors":
        server.sendall(b"Q" + struct.pack(">I", len(text) + 5) + text + b"\\0")
        buffers = [bytearray(5000), bytearray(5000)]
        server.recvmsg_into(buffers)
        return
    else:
        server.sendall(struct.pack("<I", len(text) + 1)[:3] + b"\\0\\3" + text)
        if first_bytes:
            server.recv(first_bytes)
        server.recv(10_000)
        return
    answer = b""
    while answer[-6:-1] != READY:
        answer += server.recv(10_000)

print(0, flush=True)
while True:
    for each in turn:
        ask(each.encode())
    time.sleep(0.02)
"""
TURN = ("BEGIN", "SELECT a FROM t", "INSERT INTO t VALUES (1)", "ROLLBACK")
NAME = "INSERT INTO t VALUES (?)"


def message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack(">I", len(content) + 4) + content


def refusal(state: str) -> bytes:
    fields = (b"SERROR", b"VERROR", b"C" + state.encode(), f"M{MARKER}".encode(), b"")
    return message(b"E", b"".join(each + b"\0" for each in fields)) + READY


def packet(number: int, content: bytes) -> bytes:
    return struct.pack("<I", len(content))[:3] + bytes([number]) + content


def mysql_refusal(code: int, number: int = 1) -> bytes:
    return packet(number, b"\xff" + struct.pack("<H", code) + f"#HY000{MARKER}".encode())


READY = message(b"Z", b"I")
COLUMN = message(b"T", b"\0\1" + MARKER.encode() + bytes(19))
FINE = {"mysql": packet(1, bytes(7))}
FINE_OF_POSTGRESQL = message(b"C", b"INSERT 0 1\0") + READY


@contextlib.contextmanager
def scripted(fine: bytes, refused: Sequence[bytes]) -> Iterator[int]:
    """Serve one client, whose INSERTs get these pieces; the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection = listener.accept()[0]
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, contextlib.suppress(OSError):
                while asked := connection.recv(10_000):
                    for each in refused if b"INSERT" in asked else [fine]:
                        connection.sendall(each)
                        time.sleep(0.002 if len(refused) > 1 else 0)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def asking(
    attach: Attach,
    cleanup: Cleanup,
    protocol: str,
    *refused: bytes,
    turn: Sequence[str] = TURN,
    first_bytes: int = 0,
) -> Model:
    """Record a client whose INSERTs are answered so."""
    port = cleanup.enter_context(scripted(FINE.get(protocol, FINE_OF_POSTGRESQL), refused))
    pid, _ = cleanup.enter_context(running_server(CLIENT, port, protocol, first_bytes, *turn))
    return watched(attach, pid, WINDOW_NS)


def retried(model: Model) -> Finding | None:
    return next((each for each in diagnose(model).findings if each.id == "CALL-RETRIED"), None)


def assert_told(model: Model, status: str, named: str, *, name: str = NAME) -> None:
    """Every such answer is counted, nearly every sleep follows one, and the finding says so."""
    (line,) = model.answers
    (failed,) = model.failed_calls
    count = sum(each.count for each in model.sql_calls if each.name == name)
    assert (line.direction, line.name, line.status) == ("connected", "", status)
    assert count - 1 <= line.count <= count and line.count > 20, (line, model.sql_calls)
    assert (failed.request, failed.status, failed.call, failed.error) == ("", status, "", 0)
    assert 0.8 * line.count - 3 <= failed.sleeps <= line.count and failed.sum_ns >= failed.sleeps * 20_000_000
    found = retried(model)
    assert found and found.severity is Severity.WARNING, found
    assert (
        f"with {named}, and threads sleep before they {'ask again' if status == 'OTHER' else 'retry'}" in found.headline
    )
    assert MARKER not in str(model.answers) + str(model.failed_calls) + found.claim


@pytest.mark.parametrize(
    ("protocol", "refused", "status", "named"),
    [
        ("postgresql", [refusal("40001")], "40001", "40001 (serialization failure)"),
        ("vectors", [refusal("40P01")], "40P01", "40P01 (deadlock)"),
        ("postgresql", [COLUMN + refusal("57014")], "57014", "57014 (statement canceled)"),
        ("postgresql", [COLUMN, refusal("40001")], "40001", "40001 (serialization failure)"),
        ("postgresql", [refusal("TOKEN")], "OTHER", "an error"),
        ("mysql", [mysql_refusal(1213)], "1213", "1213 (deadlock)"),
        (
            "mysql",
            [packet(1, b"\1") + packet(2, b"\3def") + mysql_refusal(1205, 3)],
            "1205",
            "1205 (lock wait timeout)",
        ),
    ],
)
def test_the_error_before_a_sleep(
    protocol: str, refused: Sequence[bytes], status: str, named: str, attach: Attach, cleanup: Cleanup
) -> None:
    assert_told(asking(attach, cleanup, protocol, *refused), status, named)


def test_a_client_of_mysql_may_read_the_header_alone(attach: Attach, cleanup: Cleanup) -> None:
    assert_told(asking(attach, cleanup, "mysql", mysql_refusal(1213), first_bytes=4), "1213", "1213 (deadlock)")


@pytest.mark.parametrize(
    ("protocol", "refused"),
    [
        ("postgresql", [FINE_OF_POSTGRESQL]),
        ("postgresql", [message(b"N", b"SERROR\0VERROR\0C40001\0\0") + FINE_OF_POSTGRESQL]),
        ("postgresql", [message(b"D", b"E\0\0\0\x30SERROR\0VERROR\0C40001\0\0") + READY]),
        ("mysql", [packet(1, bytes(7) + b"\xff\xbd\4#40001")]),
    ],
)
def test_what_is_no_error_is_told_as_none(
    protocol: str, refused: Sequence[bytes], attach: Attach, cleanup: Cleanup
) -> None:
    model = asking(attach, cleanup, protocol, *refused)
    assert not model.answers and not model.failed_calls and retried(model) is None, model.answers


def test_who_goes_on_after_an_error_sleeps_for_something_else(attach: Attach, cleanup: Cleanup) -> None:
    """What ends a transaction succeeds after an error, too; another statement means that the work goes on."""
    turn = ("SELECT a FROM t", "INSERT INTO t VALUES (1)", "ROLLBACK", "SELECT b FROM t")
    model = asking(attach, cleanup, "postgresql", refusal("23505"), turn=turn)
    assert [each.status for each in model.answers] == ["23505"]
    assert not model.failed_calls and retried(model) is None, model.failed_calls


@pytest.mark.may_skip("postgresql")
def test_a_server_of_postgresql(attach: Attach, cleanup: Cleanup) -> None:
    """A statement behind the one that failed is refused for that: the first one tells why."""
    need_postgres()
    server = cleanup.enter_context(Statements("SELECT 1", 1))
    path = f"{server.cluster.directory}/.s.PGSQL.5432"
    turn = ("BEGIN", f"SELECT 7 AS {MARKER}", "SELECT 1 / 0", "SELECT 8", "ROLLBACK")
    pid, _ = cleanup.enter_context(running_server(CLIENT, path, "postgresql", 0, *turn))
    model = watched(attach, pid, WINDOW_NS)
    states = {each.status: each for each in model.answers}
    count = sum(each.count for each in model.sql_calls if each.name == "SELECT ? / ?")
    assert set(states) == {"22012", "25P02"}, model.answers
    assert all(count - 1 <= each.count <= count + 1 and each.count > 20 for each in states.values()), model.answers
    (failed,) = model.failed_calls
    assert failed.status == "22012" and failed.sleeps >= 0.8 * count - 3, failed
    found = retried(model)
    assert found and "PostgreSQL answers with 22012 (data error)" in found.headline, found
    assert MARKER not in str(model.answers) + str(model.failed_calls)
