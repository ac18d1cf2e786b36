"""SQL statements that the target sends: counted by request, and nothing of their literals kept."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of
from live.support.recording import Recording

REQUESTS = 31
TIMES = 23
MARKER = "marker_7c2d"

# Answers whatever is asked after 200 us; to what is prepared it gives numbers, as MariaDB's server does.
DATABASE = """
import socket, struct, threading, time
def serve(connection):
    number = 40
    while asked := connection.recv(100_000):
        if asked[3:5] == bytes([0, 25]):  # which may have come together with what is asked next
            asked = asked[9:] or connection.recv(100_000)
        time.sleep(0.0002)
        if asked[3:5] != bytes([0, 22]):
            connection.sendall(b"answer")
            continue
        while asked:  # several may have come at once
            number += 1
            connection.sendall(b"\\x0c\\0\\0\\1" + struct.pack("<BIHHBH", 0, number, 1, 2, 0, 0))
            asked = asked[4 + int.from_bytes(asked[:3], "little") :]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

# For each request asks the database for one list, and then so many times for one row of it.
CLIENT = """
import socket, struct, sys
port, times, protocol, marker = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
database = socket.create_connection(("127.0.0.1", port))
database.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
SYNC = b"S" + struct.pack(">I", 4)

def message(kind, content):
    return kind + struct.pack(">I", len(content) + 4) + content

def execute():
    return message(b"E", b"\\0" + bytes(4))

def command(number, content):
    return struct.pack("<I", len(content) + 1)[:3] + b"\\0" + bytes([number]) + content

def send(data, vector=False):
    if vector:
        database.sendmsg([data])
    else:
        database.sendall(data)
    database.recv(100)

def postgresql(text, again):
    send(message(b"Q", text + b"\\0"))

def commented(text, again):
    comment = b"/*dddbs='%s',%s*/ " % (marker.encode(), b",".join(b"k%d='v'" % n for n in range(30)))
    send(message(b"Q", comment + text + b"\\0"))

def commented_mariadb(text, again):
    send(command(3, b"/* %s */\\n" % marker.encode() + text))

def vector(text, again):
    send(message(b"Q", text + b"\\0"), True)

def extended(text, again):
    parse = message(b"P", b"\\0" + text + b"\\0" + bytes(2))
    send(parse + message(b"B", bytes(8)) + execute() + SYNC)

def prepared(text, again):
    name = b"list\\0" if b"list" in text else b"row\\0"
    if name not in known:
        send(message(b"P", name + text + b"\\0" + bytes(2)) + SYNC)
        known[name] = name
    send(message(b"B", b"\\0" + name + bytes(6)) + execute() + SYNC)

def mariadb(text, again):
    send(command(3, text))

def mysql(text, again):
    send(command(3, b"\\0\\1" + text))

def numbered(text, read):
    database.sendall(command(22, text))
    return struct.unpack("<I", read()[5:9])[0]

def mariadb_prepared(text, again, read=lambda: database.recv(100)):
    if not known:  # the row first, though the list is asked for first
        known["row"] = numbered(f"SELECT name FROM items WHERE id = 0 AND token = '{marker}'".encode(), read)
        known["list"] = numbered(text, read)
    send(command(23, struct.pack("<IBI", known["list" if b"list" in text else "row"], 0, 1)))

def mariadb_header_first(text, again):
    mariadb_prepared(text, again, lambda: database.recv(4) + database.recv(100))

def mariadb_message(text, again):
    mariadb_prepared(text, again, lambda: database.recvmsg(100)[0])

def mariadb_closed(text, again):
    number = numbered(text, lambda: database.recv(100))
    send(command(23, struct.pack("<IBI", number, 0, 1)))
    database.sendall(command(25, struct.pack("<I", number)))

def mariadb_prepared_together(text, again):
    if not known:
        for table in (b"a", b"b"):
            database.sendall(command(22, b"SELECT * FROM " + table))
        for at in range(3):
            known[at] = struct.unpack("<I", database.recv(16, socket.MSG_WAITALL)[5:9])[0]
            if at == 0:
                database.sendall(command(22, b"SELECT * FROM c"))
    send(command(23, struct.pack("<IBI", known[again % 3], 0, 1)))

def in_pieces(text, again):
    whole = message(b"Q", text + b"\\0")
    if again == 0:
        return send(whole)
    database.sendmsg([whole[:9], whole[9:]])
    database.recv(100)

def distinct(text, again):
    known[len(known)] = text
    send(message(b"Q", b"SELECT column%d FROM items\\0" % len(known)))

def other(text, again):
    send(struct.pack(">I", len(text)) + text)

known = {}
ask = globals()[protocol]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(1000):
    ask(f"SELECT list, '{marker}' FROM carts".encode(), 0)
    for number in range(times):
        ask(f"SELECT name FROM items WHERE id = {number} AND token = '{marker}'".encode(), number)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
"""

LIST = "SELECT list, ? FROM carts"
ROW = "SELECT name FROM items WHERE id = ? AND token = ?"


@contextmanager
def recorded(
    attach: Attach, cleanup: Cleanup, protocol: str, times: int = TIMES, **options: list[str]
) -> Iterator[Recording]:
    _, database = cleanup.enter_context(running_server(DATABASE, first=True))
    pid, port = cleanup.enter_context(running_server(CLIENT, database, times, protocol, MARKER, first=True))
    recorder = attach(pid, only=True, **options)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(REQUESTS):
            client.sendall(b"GET /cart HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(1000)
    recording = recorder.stop()
    check_model(recording)
    yield recording
    assert MARKER.encode() not in recording.path.read_bytes()


def calls(recording: Recording) -> dict[str, schema.SqlCall]:
    return {line.name or line.kind: line for line in recording.of(schema.SqlCall)}


@pytest.mark.parametrize(
    ("protocol", "server"),
    [
        ("postgresql", "postgresql"),
        ("vector", "postgresql"),
        ("commented", "postgresql"),
        ("commented_mariadb", "mariadb"),
        ("extended", "postgresql"),
        ("prepared", "postgresql"),
        ("mariadb", "mariadb"),
        ("mysql", "mariadb"),
        ("mariadb_prepared", "mariadb"),
        ("mariadb_header_first", "mariadb"),
        ("mariadb_message", "mariadb"),
    ],
)
def test_each_statement_of_each_request_is_counted(
    protocol: str, server: str, attach: Attach, cleanup: Cleanup
) -> None:
    with recorded(attach, cleanup, protocol) as recording:
        lines = calls(recording)
        assert {(line.server, line.kind, line.request) for line in lines.values()} == {(server, "run", "GET /cart")}
        listed, row = lines[LIST], lines[ROW]
        assert (listed.count, listed.owned, listed.repeated) == (REQUESTS, REQUESTS, 0)
        assert (row.count, row.owned, row.repeated) == (REQUESTS * TIMES, REQUESTS * TIMES, REQUESTS * (TIMES - 1))
        assert row.sum_ns >= row.count * 200_000 and sum(number for _, number in row.buckets) == row.count
        first = diagnose(model_of(recording)).findings[0]
        assert first.id == "SQL-CHATTY" and first.evidence[0].value == TIMES, first


def test_what_gets_no_answer_is_no_call(attach: Attach, cleanup: Cleanup) -> None:
    """Clients that prepare each statement anew close it again: what they send next is no second part of that."""
    with recorded(attach, cleanup, "mariadb_closed") as recording:
        lines = calls(recording)
        assert {name: line.count for name, line in lines.items()} == {LIST: REQUESTS, ROW: REQUESTS * TIMES}
        assert all(line.owned == line.count for line in lines.values())
        (asked,) = (line for line in recording.of(schema.Exchange) if line.direction == "connected")
        assert (asked.count, asked.open, asked.unanswered) == (2 * REQUESTS * (TIMES + 1), 0, 0), asked


def test_of_statements_prepared_together_none_is_named_as_another(attach: Attach, cleanup: Cleanup) -> None:
    """Of three the second answer was read after the third was sent, and was taken for its own."""
    with recorded(attach, cleanup, "mariadb_prepared_together") as recording:
        run = {line.name: line.count for line in recording.of(schema.SqlCall) if line.kind == "run"}
        assert set(run) <= {"SELECT * FROM a"}, run
        assert sum(line.count for line in recording.of(schema.SqlCall)) >= REQUESTS * (TIMES + 1)


def test_statements_whose_text_cannot_be_read_are_counted(attach: Attach, cleanup: Cleanup) -> None:
    with recorded(attach, cleanup, "in_pieces") as recording:
        assert recording.footer.lost["statements_unread"] == REQUESTS * (TIMES - 1)
        assert any("sent in pieces" in each.reason for each in model_of(recording).not_measured)


def test_a_request_that_asks_twice_is_how_things_are_built(attach: Attach, cleanup: Cleanup) -> None:
    with recorded(attach, cleanup, "postgresql", 1) as recording:
        assert calls(recording)[ROW].count == REQUESTS and calls(recording)[ROW].repeated == 0
        assert "SQL-CHATTY" not in {each.id for each in diagnose(model_of(recording)).findings}


def test_statements_without_room_are_not_one_that_is_repeated(attach: Attach, cleanup: Cleanup) -> None:
    with recorded(attach, cleanup, "distinct") as recording:
        assert calls(recording)["no_room"].count > REQUESTS * TIMES / 2 and calls(recording)["no_room"].repeated == 0
        assert "SQL-CHATTY" not in {each.id for each in diagnose(model_of(recording)).findings}


def test_another_protocol_shows_no_statement(attach: Attach, cleanup: Cleanup) -> None:
    with recorded(attach, cleanup, "other") as recording:
        assert not calls(recording)
        assert diagnose(model_of(recording)).findings[0].id == "NET-CHATTY"


@pytest.mark.parametrize("option", ["no-apps", "no-request-names"])
def test_none_is_kept_where_that_was_asked(option: str, attach: Attach, cleanup: Cleanup) -> None:
    with recorded(attach, cleanup, "postgresql", first=[option]) as recording:
        assert not calls(recording)
