"""Answers that are errors: counted by what was asked and by status, told where sleeps follow, and nothing else kept."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model
from perfdiag.recording import schema

from live.support.calling import running_server, watched
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

pytestmark = pytest.mark.quiet  # calls of others end what is looked at here

WINDOW_NS = 1_500_000_000
MARKER = "marker_7a3c"
NAME = "GET /parts"

# Asks again and again for what the words say, reads the whole answer, and sleeps where that is no 200.
CLIENT = """
import socket, sys, time
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
asked, ways = sys.argv[2].encode().decode("unicode_escape").encode(), sys.argv[3]
print(0, flush=True)
while True:
    peer.sendall(asked)
    answer = b""
    while not answer.endswith(b"end"):
        if ways == "vectors":
            buffers = [bytearray(1000), bytearray(1000)]
            length = peer.recvmsg_into(buffers)[0]
            answer += b"".join(buffers)[:length]
        else:
            answer += peer.recv(100_000)
    if b"200 OK" not in answer:
        time.sleep(0.02)
"""
HTTP = f"GET /parts?key={MARKER} HTTP/1.1\\r\\nHost: {MARKER}\\r\\n\\r\\n"
REDIS = f"*2\\r\\n$3\\r\\nGET\\r\\n${len(MARKER)}\\r\\n{MARKER}\\r\\n"

# Answers with the status that it was told, in one piece or two, whatever it is asked.
SERVER = """
import os, socket, sys
beginning, way = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(10_000):
    if way == "vectors":
        os.writev(connection.fileno(), [beginning, b"Content-Length: 3\\r\\n\\r\\nend"])
    elif way == "message":
        connection.sendmsg([beginning, b"Content-Length: 3\\r\\n\\r\\nend"])
    else:
        connection.sendall(beginning + b"Content-Length: 3\\r\\n\\r\\n")
        connection.sendall(b"end")
"""


@contextlib.contextmanager
def peer(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serve one client in this process; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection = listener.accept()[0]
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, contextlib.suppress(OSError):
                while connection.recv(10_000):
                    answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


# Asks two peers again and again, and sleeps after each turn.
BUSY_CLIENT = """
import socket, sys, time
peers = [socket.create_connection(("127.0.0.1", int(port))) for port in sys.argv[1:]]
print(0, flush=True)
while True:
    for peer in peers:
        peer.sendall(b"GET /parts HTTP/1.1\\r\\n\\r\\n")
        peer.recv(1000)
    time.sleep(0.05)
"""


def saying(*pieces: bytes, pause_s: float = 0) -> Callable[[socket.socket], None]:
    """Answer with these, one after the other."""

    def answer(connection: socket.socket) -> None:
        for each in pieces:
            connection.sendall(each)
            time.sleep(pause_s)

    return answer


def asked(
    answer: Callable[[socket.socket], None], attach: Attach, cleanup: Cleanup, what: str = HTTP, way: str = ""
) -> Model:
    """Record a client of a peer that answers so."""
    port = cleanup.enter_context(peer(answer))
    pid, _ = cleanup.enter_context(running_server(CLIENT, port, what, way))
    return watched(attach, pid, WINDOW_NS)


def retried(model: Model) -> Finding | None:
    return next((each for each in diagnose(model).findings if each.id == "CALL-RETRIED"), None)


@pytest.mark.parametrize(
    ("what", "answer", "name", "status"),
    [
        (HTTP, b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n\r\nend", NAME, "429"),
        (HTTP, b"HTTP/1.0 503 \r\n\r\nend", NAME, "503"),
        (REDIS, b"-LOADING Redis is loading the dataset in memory\r\nend", "GET", "LOADING"),
        (REDIS, b"-MARKERS are secret\r\nend", "GET", "OTHER"),
    ],
)
@pytest.mark.parametrize("way", ["", "vectors"])
def test_the_answer_before_a_sleep(
    what: str, answer: bytes, name: str, status: str, way: str, attach: Attach, cleanup: Cleanup
) -> None:
    model = asked(saying(answer), attach, cleanup, what, way)
    (line,) = model.answers
    (calls,) = model.named_calls
    assert (line.name, line.direction, line.status) == (name, "connected", status)
    assert calls.count - 1 <= line.count <= calls.count and 0 < line.sum_ns <= calls.sum_ns, (line, calls)
    (failed,) = model.failed_calls
    assert (failed.request, failed.status, failed.call, failed.error) == (name, status, "", 0)
    assert 0.8 * line.count - 3 <= failed.sleeps <= line.count and failed.sum_ns >= failed.sleeps * 20_000_000
    found = retried(model)
    assert found and found.severity is Severity.WARNING, found
    assert f"answers {name} with {'an error' if status == 'OTHER' else status}" in found.headline


@pytest.mark.parametrize(
    "answer",
    [
        saying(b"HTTP/1.1 404 Not Found\r\n\r\nend", b""),
        saying(b"HTTP/1.1 200 OK\r\n\r\nend"),
        saying(*(bytes([each]) for each in b"HTTP/1.1 503 Unavailable\r\n\r\nend"), pause_s=0.0005),
        saying(b"HTTP/1.1 ", b"503 Unavailable\r\n\r\nend", pause_s=0.002),
        saying(b"\0" * 700, b"HTTP/1.1 503 x\r\n\r\nend", pause_s=0.002),
        saying(b"HTTP/1.1 " + b"5" * 1_000_000 + b" x\r\n\r\nend"),
        saying(b"HTTP/1.1 999 x\r\n\r\nend"),
        saying(b"\xff\xfe503 503 503\r\n\r\nend"),
    ],
    ids=["missing", "fine", "bytes", "pieces", "late", "long", "high", "garbage"],
)
def test_what_is_no_error_of_a_server_is_told_as_none(
    answer: Callable[[socket.socket], None], attach: Attach, cleanup: Cleanup
) -> None:
    model = asked(answer, attach, cleanup)
    assert not [each for each in model.answers if each.status != "404"], model.answers
    found = retried(model)
    assert not found or found.severity is Severity.INFO, found


def test_an_interim_answer_is_not_the_answer(attach: Attach, cleanup: Cleanup) -> None:
    early = saying(b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 502 Bad Gateway\r\n\r\nend", pause_s=0.002)
    (line,) = asked(early, attach, cleanup).answers
    assert line.status == "502", line


def test_one_error_is_no_reason_for_a_sleep(attach: Attach, cleanup: Cleanup) -> None:
    """Of answers that are errors now and then only sleeps that follow these are told."""
    turns = iter(range(10_000))

    def answer(connection: socket.socket) -> None:
        status = b"503 x" if next(turns) == 3 else b"201 Made"
        connection.sendall(b"HTTP/1.1 %s\r\n\r\nend" % status)

    model = asked(answer, attach, cleanup)
    assert not model.failed_calls and retried(model) is None, model.failed_calls


@pytest.mark.parametrize("way", ["", "vectors", "message"])
@pytest.mark.parametrize("status", ["500 Internal Server Error", "200 OK"])
def test_a_server_says_how_many_of_its_answers_are_errors(
    status: str, way: str, attach: Attach, cleanup: Cleanup
) -> None:
    pid, port = cleanup.enter_context(running_server(SERVER, f"HTTP/1.1 {status}\\r\\n", way))
    target = attach(pid, duration_ns=WINDOW_NS)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(31):
            client.sendall(f"GET /parts/{MARKER}7 HTTP/1.1\r\n\r\n".encode())
            while not client.recv(1000).endswith(b"end"):
                pass
        recording = target.wait()
    model = model_of(recording)
    found = [each for each in diagnose(model).findings if each.id == "REQUEST-ERRORS"]
    if status.startswith("200"):
        assert not model.answers and not found
        return
    (line,), (error,) = model.answers, found
    assert (line.object, line.name, line.status) == (f"port:{port}", "GET /parts/#", "500")
    assert line.count == 31 and error.severity is Severity.WARNING
    assert error.headline == f"100 % of the answers on port {port} are 500 (31 of 31)"
    assert MARKER not in str(recording.of(schema.Answer))


def test_nothing_else_of_an_answer_is_kept(attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    answer = f"HTTP/1.1 403 {MARKER}\r\nX-Token: {MARKER}\r\n\r\nend".encode()
    port = cleanup.enter_context(peer(saying(answer)))
    pid, _ = cleanup.enter_context(running_server(CLIENT, port, "GET / HTTP/1.1\\r\\n\\r\\n", ""))
    recording = attach(pid, duration_ns=WINDOW_NS).wait()
    (line,) = recording.of(schema.Answer)
    assert (line.name, line.status) == ("GET /", "403")
    assert MARKER not in str(recording.of(schema.Answer)) + str(recording.of(schema.FailedCall))


@pytest.mark.parametrize("refused", [0, 1])
@pytest.mark.parametrize("other", [b"HTTP/1.1 200 OK\r\n\r\n", b"rows of a database"])
def test_a_loop_that_gets_its_answers_elsewhere_does_not_try_again(
    other: bytes, refused: int, attach: Attach, cleanup: Cleanup
) -> None:
    """A cache that refuses before its origin answers, or metrics that are refused after the work."""
    answers = [other, other]
    answers[refused] = b"HTTP/1.1 503 x\r\n\r\n"
    ports = [cleanup.enter_context(peer(saying(each))) for each in answers]
    pid, _ = cleanup.enter_context(running_server(BUSY_CLIENT, *ports))
    model = watched(attach, pid, WINDOW_NS)
    assert [each.status for each in model.answers] == ["503"], model.answers
    assert retried(model) is None and sum(each.sleeps for each in model.failed_calls) <= 2, model.failed_calls
