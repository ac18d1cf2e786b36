"""Connections that nobody uses in the window: do they hold a question from before it?  Nobody is acquitted then."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema
from perfdiag.report import contract
from perfdiag.report.verdict.verdict import decide

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup, Serving
from live.support.model import model_of
from live.support.recording import Recording
from live.support.serving import Server, asked, http, stopped

S = 1_000_000_000
AGO_SECONDS, WINDOW_SECONDS = 1.3, 1.0
TICK_NS = 10_000_000  # of the slowest clocks of kernels
HUNG = "thread_each(listening(), but_never('/hung'))"
# Asks for two things on each of three connections: the first is answered, the second if its server chooses so.
CLIENT = """
import select, socket, sys, time
asked = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(3)]
for connection in asked:
    for word in ("GET / HTTP/1.1", sys.argv[2]):
        connection.sendall(word.encode() + b"\\r\\n\\r\\n")
        if word.startswith("GET / "):
            connection.recv(1000)
        time.sleep(0.05)
print(0, flush=True)
select.select(asked[:1], [], []) if sys.argv[3] == "events" else asked[0].recv(1000)
"""


def silences(recording: Recording) -> list[tuple[str, str, int, int, int]]:
    """Return what is silent, with how long it has been in tenths of a second."""
    lines = recording.of(schema.Silent)
    return [(each.object, each.direction, each.pid, each.count, each.oldest_ns // (S // 10)) for each in lines]


def verdict(recording: Recording) -> contract.Verdict:
    model = model_of(recording)
    return decide(model, diagnose(model))


def after_a_while(attach: Attach, pid: int) -> Recording:
    time.sleep(AGO_SECONDS)
    recorder = attach(pid)
    time.sleep(WINDOW_SECONDS)
    return stopped(recorder)


def first_question(server: Server, cleanup: Cleanup) -> None:
    cleanup.enter_context(server.connect()).sendall(http("/hung"))


def right_after_an_answer(server: Server, cleanup: Cleanup) -> None:
    """Within the same tick, mostly."""
    connection = cleanup.enter_context(server.connect())
    asked(connection, http("/"))
    asked(connection, http("/"))
    connection.sendall(http("/hung"))


def after_a_pause(server: Server, cleanup: Cleanup) -> None:
    connection = cleanup.enter_context(server.connect())
    asked(connection, http("/"))
    time.sleep(0.1)
    connection.sendall(http("/hung"))


@pytest.mark.parametrize(("ask", "never"), [(first_question, 1), (right_after_an_answer, 0), (after_a_pause, 0)])
def test_a_question_read_before_the_window(
    ask: Callable[[Server, Cleanup], None], never: int, serving: Serving, attach: Attach, cleanup: Cleanup
) -> None:
    """A server that hangs gets no work either: it was acquitted."""
    server = serving(HUNG)
    for _ in range(3):
        asked(cleanup.enter_context(server.connect()), http("/"))
        ask(server, cleanup)
    recording = after_a_while(attach, server.pid)
    (line,) = recording.of(schema.Silent)
    assert (line.object, line.direction, line.pid) == (f"port:{server.port}", "accepted", server.pid)
    assert (line.count, line.never) == (3, 3 * never)
    least_ns = round((AGO_SECONDS + WINDOW_SECONDS) * S) - 2 * TICK_NS
    assert least_ns <= line.oldest_ns < least_ns + 3 * S
    found = verdict(recording)
    assert found.kind == "cannot tell" and "3 connections on port" in found.text, found


def test_clients_that_have_their_answers_wait_for_none(serving: Serving, attach: Attach, cleanup: Cleanup) -> None:
    server = serving(HUNG)
    for number in range(20):
        connection = cleanup.enter_context(server.connect())
        asked(connection, http("/"))
        if number % 2:
            time.sleep(0.03)
            asked(connection, http("/"))
    used = cleanup.enter_context(server.connect())
    time.sleep(AGO_SECONDS)
    recorder = attach(server.pid)
    for _ in range(5):
        asked(used, http("/"))
        time.sleep(WINDOW_SECONDS / 5)
    recording = stopped(recorder)
    assert not silences(recording)
    assert "no answer" not in verdict(recording).text


@pytest.mark.parametrize("waits", ["events", "answer"])
@pytest.mark.parametrize("answered", [True, False])
def test_who_has_asked_before_the_window(
    answered: bool, waits: str, serving: Serving, attach: Attach, cleanup: Cleanup
) -> None:
    server = serving(HUNG)
    word = "GET / HTTP/1.1" if answered else "GET /hung HTTP/1.1"
    pid, _ = cleanup.enter_context(running_server(CLIENT, server.port, word, waits))
    recording = after_a_while(attach, pid)
    found = [(each.object, each.direction, each.pid, each.count) for each in recording.of(schema.Silent)]
    assert found == ([] if answered else [(f"peer:127.0.0.1:{server.port}", "connected", pid, 3)])
    text = verdict(recording).text
    assert ("127.0.0.1" in text and "said nothing since asked" in text) is not answered, text


def test_a_unix_socket_keeps_no_time(serving: Serving, attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    """An answered client and one that waits look the same: whoever serves there is not acquitted."""
    server = serving(f"thread_each(listening(path={str(tmp_path / 'socket')!r}), but_never('/hung'))")
    asked(cleanup.enter_context(server.connect()), http("/"))
    first_question(server, cleanup)
    recording = after_a_while(attach, server.pid)
    (line,) = recording.of(schema.Silent)
    assert (line.direction, line.count, line.oldest_ns) == ("accepted", 2, 0) and line.object.endswith(":socket")
    found = verdict(recording)
    assert found.kind == "cannot tell" and "on 2 silent connections" in found.text, found
