"""What clients and servers do that is no request, hides one, or has a hostile name; and what cannot be told apart."""

from __future__ import annotations

import contextlib
import socket
import struct
import time

import pytest
from perfdiag.recording import schema

from live.support.fixtures import Attach, Serving
from live.support.model import model_of
from live.support.serving import answered, asked, exchanged, http, served, stopped
from live.support.workload import PATIENCE_SECONDS

MS = 1_000_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SLEEPER = "thread_each(listening(), sleeps(0.001))"


@pytest.mark.parametrize(
    ("request_line", "name"),
    [
        ("GET /users/123/orders/7f3a?token=secret HTTP/1.1", "GET /users/#/orders/#"),
        ("GET /v1/items HTTP/1.1", "GET /v1/items"),
        ("GET /v2x/a1b2 HTTP/1.1", "GET /#/#"),
        ("DELETE / HTTP/1.1", "DELETE /"),
        ("GET /?secret=1 HTTP/1.1", "GET /"),
        ("GET /\x1b[31mred\x07\x7f HTTP/1.1", "GET /#"),
        ("GET /\x1b[mred\x07\x7f HTTP/1.1", "GET /#"),
        ("GET /\xff\xfe HTTP/1.1", "GET /#"),
        ("GET http://user:secret@host/path HTTP/1.1", "GET /path"),
        ("GET /a;jsessionid=secret HTTP/1.1", "GET /a"),
        ("GET /a#secret HTTP/1.1", "GET /a"),
        ("GET /a/key=secret HTTP/1.1", "GET /a/#"),
        ("GET /secret", "GET #"),
        ("GET /its secret", "GET #"),
        ("POSTsecret /secret HTTP/1.1", ""),
    ],
)
def test_names(request_line: str, name: str, serving: Serving, attach: Attach) -> None:
    """What can be a secret is in no recording."""
    server = serving(SLEEPER)
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(5):
            asked(connection, request_line.encode("latin-1") + b"\r\n\r\n")
    recording = stopped(recorder)
    assert b"secret" not in recording.path.read_bytes()
    (requests,) = exchanged(recording, "accepted").values()
    assert requests.line.count == 5
    assert requests.line.name == name


def test_a_request_from_before_the_window_leaves_later_ones_their_names(serving: Serving, attach: Attach) -> None:
    """Of an upload that had begun only the rest is seen, and that tells no name."""
    server = serving(SLEEPER)
    with server.connect() as connection:
        asked(connection, http("/before"))
        connection.sendall(b"POST /upload HTTP/1.1\r\nX-Body: ")
        time.sleep(0.1)
        recorder = attach(server.pid)
        asked(connection, b"the rest of it\r\n\r\n")
        for _ in range(5):
            asked(connection, http("/list"))
        found = {name: each.line.count for name, each in exchanged(stopped(recorder), "accepted").items()}
    assert found == {"": 1, "GET /list": 5}


def test_a_path_of_a_megabyte(serving: Serving, attach: Attach) -> None:
    server = serving(SLEEPER)
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(3):
            asked(connection, http("/" + "x" * (1 << 20)))
    (requests,) = exchanged(stopped(recorder), "accepted").values()
    assert requests.line.count == 3 and requests.line.bytes_in > 3 << 20, requests.line
    assert requests.line.name == "GET /#", requests.line


def test_pipelined_requests_are_noticed(serving: Serving, attach: Attach) -> None:
    """They share a connection at the same time: what they consist of is not told."""
    server = serving("thread_each(listening(), one_by_one)")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(20):
            connection.sendall(http("/a") * 7)
            answered(connection, OK * 7)
    recording = stopped(recorder)
    assert sum(each.line.declined for each in exchanged(recording, "accepted").values()) == 1
    assert model_of(recording).request_time is None


def test_pipelined_requests_that_are_read_at_once_are_noticed(serving: Serving, attach: Attach) -> None:
    """The second answer tells; one to a request at a time is no sign of it."""
    server = serving("thread_each(listening(), all_at_once)")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for count in (7, 1):
            for _ in range(20):
                connection.sendall(http("/a") * count)
                answered(connection, OK * count)
    recording = stopped(recorder)
    requests = served(recording, "GET /a")
    assert (requests.line.count, requests.line.early) == (40, 20 * 6), requests.line
    known = model_of(recording).request_time
    assert known is None or known.uncertain_ns >= known.ns, known


def test_http2_is_declined(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), sleeps(0.001))")
    recorder = attach(server.pid)
    for _ in range(3):
        with server.connect() as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\n")
            answered(connection)
            connection.sendall(b"SM\r\n\r\n")
            answered(connection)
    recording = stopped(recorder)
    (requests,) = exchanged(recording, "accepted").values()
    assert requests.line.declined == 3 and not requests.line.count, requests.line
    assert model_of(recording).request_time is None


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def asked_on_an_older_connection(sent: bytes, serving: Serving, attach: Attach) -> schema.Exchange:
    """Return what was counted where these bytes came five times on a connection that was made before the window."""
    server = serving("by_one_loop(listening(), computes(0.001))")
    with server.connect() as connection:
        asked(connection, http("/"))
        recorder = attach(server.pid)
        for _ in range(5):
            asked(connection, sent)
        recording = stopped(recorder)
    (requests,) = exchanged(recording, "accepted").values()
    return requests.line


BLOCK = b"\x82\x86\x84\x41\x8a\x08\x9d\x5c"  # GET / http, in HPACK
WINDOW_UPDATE = frame(8, 0, 0, b"\0\0\x40\0")
LONG_BLOCK = BLOCK + bytes(200)


@pytest.mark.parametrize(
    "sent",
    [frame(1, 5, 7, BLOCK), WINDOW_UPDATE + frame(1, 5, 7, BLOCK), frame(1, 4, 7, LONG_BLOCK) + frame(0, 1, 7, b"{}")],
    ids=["one", "two", "beyond what is looked at"],
)
def test_http2_on_a_connection_that_is_older_than_the_window(sent: bytes, serving: Serving, attach: Attach) -> None:
    line = asked_on_an_older_connection(sent, serving, attach)
    assert line.declined == 1 and not line.count, line


THRIFT = b"\0\0\0\x11\x80\x01\0\x01\0\0\0\x04ping\0\0\0\x07\0"  # as long as its first 4 bytes say
MYSQL = b"\x09\0\0\0\x03SELECT 1"


@pytest.mark.parametrize("sent", [THRIFT, MYSQL, frame(1, 5, 7, BLOCK)[:-1], bytes(9)], ids=repr)
def test_what_only_begins_with_a_length_is_timed(sent: bytes, serving: Serving, attach: Attach) -> None:
    line = asked_on_an_older_connection(sent, serving, attach)
    assert line.count == 5 and not line.declined, line


def test_a_client_that_has_sent_all_it_will(serving: Serving, attach: Attach) -> None:
    """Half-closed: the answer still comes."""
    server = serving(SLEEPER)
    recorder = attach(server.pid)
    for _ in range(17):
        with server.connect() as connection:
            connection.sendall(http("/half"))
            connection.shutdown(socket.SHUT_WR)
            answered(connection)
    requests = served(stopped(recorder), "GET /half")
    assert requests.line.count == 17 and not requests.line.unanswered, requests.line


def test_one_client_port_again_and_again(serving: Serving, attach: Attach) -> None:
    """The same two addresses, another connection."""
    server = serving(SLEEPER)
    recorder = attach(server.pid)
    port = 0
    for _ in range(11):
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closed at once
            connection.bind(("127.0.0.1", port))
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(("127.0.0.1", server.port))
            asked(connection, http("/again"))
            port = connection.getsockname()[1]
    requests = served(stopped(recorder), "GET /again")
    assert requests.line.count == 11, requests.line


def test_connections_passed_to_another_process(serving: Serving, attach: Attach) -> None:
    server = serving("passed_on(listening())")
    recorder = attach(server.pid)
    for _ in range(13):
        with server.connect() as connection:
            asked(connection, http("/passed"))
    requests = served(stopped(recorder), "GET /passed")
    assert requests.line.count == requests.line.whole == 13, requests.line
    assert requests.line.sum_ns >= 13 * 5 * MS, requests.line


def test_datagrams_are_not_taken_for_requests(serving: Serving, attach: Attach) -> None:
    """What came to the port is told; it neither counts as requests nor has their time."""
    server = serving("datagrams(0.001)")
    recorder = attach(server.pid)
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE_SECONDS)
        for _ in range(19):
            client.sendto(http("/"), ("127.0.0.1", server.port))
            assert client.recv(100) == b"ok"
    recording = stopped(recorder)
    (line,) = recording.of(schema.Exchange)
    assert (line.direction, line.object) == ("datagram_port", f"port:{server.port}"), line
    assert (line.count, line.sum_ns, line.untimed) == (0, 0, 19), line
    assert model_of(recording).request_time is None


def test_what_is_spliced_out_of_a_socket_is_not_seen(serving: Serving, attach: Attach) -> None:
    """No tracepoint tells of it: there are no requests, rather than wrong ones."""
    server = serving("thread_each(listening(), spliced)")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(7):
            asked(connection, http("/spliced"))
    assert not exchanged(stopped(recorder), "accepted")


def test_a_listener_with_a_backlog_of_zero(serving: Serving, attach: Attach) -> None:
    """Its connections look like connected ones: what it sends is taken for calls.  The manual says so."""
    server = serving("thread_each(listening(0), sleeps(0.001))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(23):
            asked(connection, http("/zero"))
            time.sleep(0.002)
    recording = stopped(recorder)
    assert not exchanged(recording, "accepted")
    (calls,) = exchanged(recording, "connected").values()
    assert (calls.line.count, calls.line.unanswered) == (22, 1), calls.line  # what ends the last one is its end
    assert model_of(recording).request_time is None


def test_accepted_connections_have_the_limit_of_their_listener(serving: Serving, attach: Attach) -> None:
    """By this alone is told who serves and who calls; with the smallest limit that there is."""
    server = serving("thread_each(listening(1), sleeps(0.001))")
    recorder = attach(server.pid)
    with contextlib.ExitStack() as connections:
        for _ in range(3):
            asked(connections.enter_context(server.connect()), http("/one"))
    recording = stopped(recorder)
    assert served(recording, "GET /one").line.count == 3 and not exchanged(recording, "connected")


def test_memory_behind_a_buffer_is_no_part_of_a_name(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), into_two_buffers)")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(11):
            asked(connection, http("/asked/for"))
    assert served(stopped(recorder), "GET / ...").line.count == 11
