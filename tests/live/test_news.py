"""What is never answered, or never asked for, is no request that took long: streams of logs, pushes, replication."""

from __future__ import annotations

import contextlib
import functools
import socket
import threading
import time
from collections.abc import Callable

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

MS = 1_000_000
LIMIT_NS = 50 * MS
WINDOW_S = 1.2

# Answers, or sends of its own accord, on the first connection that it accepts, in the way that is asked for.
SERVER = """
import select, socket, sys, threading, time
how, upstream_port = sys.argv[1], int(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
upstream = socket.create_connection(("127.0.0.1", upstream_port)) if upstream_port else None
poll = select.epoll()
poll.register(connection, select.EPOLLIN)
def tell():
    while True:
        time.sleep(0.1)
        connection.sendall(b"news")
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
while True:
    if how == "collects":
        connection.recv(100)
    elif how == "replicates":  # and reads what its client tells of itself
        if poll.poll(0.07):
            connection.recv(100)
        else:
            connection.sendall(b"news")
    elif how == "answers, and tells":
        if poll.poll(0.13):
            connection.recv(100)
            connection.sendall(b"answer")
        else:
            connection.sendall(b"news")
    elif how == "pushes":
        connection.sendall(b"news")
        connection.recv(100)
        time.sleep(0.1)
    elif how == "answers questions":
        if b"question" in connection.recv(100):
            connection.sendall(b"answer")
    elif how == "answers each fifth":
        for _ in range(5):
            connection.recv(100)
        connection.sendall(b"answer")
    elif how == "tells by a clock":
        threading.Thread(target=tell, daemon=True).start()
        while connection.recv(100):
            pass
    elif how == "computes":
        connection.recv(100)
        compute(0.06)
        connection.sendall(b"answer")
    elif how == "asks":
        connection.recv(100)
        upstream.sendall(b"please")
        left = 20
        while left:
            select.select([upstream, listener], [], [])
            left -= len(upstream.recv(10))
            connection.sendall(b"a piece of the answer")
"""

# Answers in two pieces.
UPSTREAM = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while connection.recv(100):
    for _ in range(2):
        time.sleep(0.04)
        connection.sendall(b"ten bytes.")
"""


def sends(each_s: float, what: bytes = b"something\n") -> Callable[[socket.socket], None]:
    def send(client: socket.socket) -> None:
        while True:
            client.sendall(what)
            time.sleep(each_s)

    return send


def encrypted(length: int) -> bytes:
    """Return what looks like a record of TLS."""
    return b"\x17\x03\x03" + length.to_bytes(2) + bytes(length)


def acknowledges(client: socket.socket, what: bytes = b"ack") -> None:
    while client.recv(100):
        client.sendall(what)


def asks(client: socket.socket) -> None:
    while True:
        client.sendall(b"question")
        got = 0
        while got < 6:
            got += len(client.recv(100))
        time.sleep(0.01)


def closes(client: socket.socket) -> None:
    """As clients of databases close a statement: for that there is no answer."""
    while True:
        client.sendall(b"a question")
        client.recv(100)
        client.sendall(b"done with it")
        time.sleep(0.4)


def recorded(
    how: str, does: Callable[[socket.socket], None], attach: Attach, cleanup: Cleanup, upstream: int = 0
) -> tuple[schema.Exchange, bool, bool]:
    """Return what was counted of requests, and whether any broke the objective: for sure, or perhaps."""
    pid, port = cleanup.enter_context(running_server(SERVER, how, upstream))
    client = cleanup.enter_context(socket.create_connection(("127.0.0.1", port)))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def talk() -> None:
        with contextlib.suppress(OSError):
            does(client)

    threading.Thread(target=talk, daemon=True).start()
    time.sleep(0.3)
    recorder = attach(pid, only=True, slo_ns=LIMIT_NS)
    time.sleep(WINDOW_S)
    model = model_of(recorder.stop())
    client.shutdown(socket.SHUT_RDWR)
    (line,) = [each.line for each in model.exchanges if each.served]
    breaches = [found.severity for found in diagnose(model).findings if found.id == "SLO-BREACH"]
    return line, Severity.WARNING in breaches, Severity.INFO in breaches


@pytest.mark.parametrize("each_s", [0.03, 0.4])
def test_what_is_never_answered_is_no_slow_request(each_s: float, attach: Attach, cleanup: Cleanup) -> None:
    line, *breaches = recorded("collects", sends(each_s), attach, cleanup)
    assert line.untimed >= 0.7 * WINDOW_S / each_s - 1 and not line.count and not line.open, line
    assert breaches == [False, False]


def test_what_is_sent_of_its_own_accord_is_no_answer(attach: Attach, cleanup: Cleanup) -> None:
    """A sender of a log for replication, whose client reports how far it is."""
    line, *breaches = recorded("replicates", sends(0.3), attach, cleanup)
    assert line.untimed + line.open >= 2 and line.over_slo <= line.over_slo_unsure <= 1, line
    assert not breaches[0], line


@pytest.mark.parametrize("question", [b"something\n", encrypted(300)])
def test_news_after_an_answer_is_no_part_of_it(question: bytes, attach: Attach, cleanup: Cleanup) -> None:
    line, *breaches = recorded("answers, and tells", sends(0.3, question), attach, cleanup)
    assert line.count >= 2 and not line.over_slo and not breaches[0], line


def test_news_that_is_acknowledged_looks_like_answers(attach: Attach, cleanup: Cleanup) -> None:
    line, *breaches = recorded("pushes", acknowledges, attach, cleanup)
    assert line.count == line.unsure == line.over_slo == line.over_slo_unsure >= 5, line
    assert breaches == [False, True], line


def test_a_message_that_wants_no_answer_begins_no_request(attach: Attach, cleanup: Cleanup) -> None:
    line, *breaches = recorded("answers questions", closes, attach, cleanup)
    assert line.count >= 2 and line.untimed >= 2 and not line.over_slo and not breaches[0], line


def test_pauses_between_messages_that_are_acknowledged_together_are_no_slow_clients(
    attach: Attach, cleanup: Cleanup
) -> None:
    line, *breaches = recorded("answers each fifth", sends(0.1), attach, cleanup)
    assert line.count >= 2 and line.over_slo_unsure >= line.count - 1, line  # the first may be one of before
    assert not breaches[0], line


@pytest.mark.parametrize("word", [b"ack", encrypted(40)])
def test_news_by_a_clock_that_is_acknowledged_looks_like_answers(word: bytes, attach: Attach, cleanup: Cleanup) -> None:
    line, *breaches = recorded("tells by a clock", functools.partial(acknowledges, what=word), attach, cleanup)
    assert line.count == line.over_slo == line.over_slo_unsure >= 5, line
    assert breaches == [False, True], line


def test_who_works_for_an_answer_is_slow(attach: Attach, cleanup: Cleanup) -> None:
    line, *breaches = recorded("computes", asks, attach, cleanup)
    assert line.count == line.over_slo >= 5 and not line.unsure and not line.untimed, line
    assert breaches == [True, False], line


def test_who_waits_for_an_answer_of_its_own_is_slow(attach: Attach, cleanup: Cleanup) -> None:
    """It waits in select, with its listening socket, and hands on what it gets in pieces."""
    _, upstream = cleanup.enter_context(running_server(UPSTREAM))
    line, *breaches = recorded("asks", asks, attach, cleanup, upstream)
    assert line.count == line.over_slo >= 5 and not line.unsure and not line.untimed, line
    assert breaches == [True, False], line


# A loop reads, and one worker answers and tells all others; it waits for what to do on a lock.
TELLING_OTHERS = """
import queue, selectors, socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
selector, connections, asked = selectors.DefaultSelector(), [], queue.Queue()
selector.register(listener, selectors.EVENT_READ)
def work():
    while True:
        who = asked.get()
        who.sendall(b"answer")
        for other in connections:
            if other is not who:
                other.sendall(b"news")
threading.Thread(target=work, daemon=True).start()
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            connections.append(listener.accept()[0])
            selector.register(connections[-1], selectors.EVENT_READ)
        elif key.fileobj.recv(100):
            asked.put(key.fileobj)
"""


def test_news_for_all_from_who_answers_one_is_no_part_of_earlier_answers(attach: Attach, cleanup: Cleanup) -> None:
    """Each of four asks every 400 ms, and hears of the others' questions meanwhile."""
    pid, port = cleanup.enter_context(running_server(TELLING_OTHERS))
    clients = [cleanup.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(4)]
    recorder = attach(pid, only=True, slo_ns=LIMIT_NS)
    for number in range(16):
        clients[number % 4].sendall(b"question")
        time.sleep(0.1)
    model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == 16 and line.unsure >= 11 and line.over_slo <= 1, line
    assert not [
        each for each in diagnose(model).findings if each.id == "SLO-BREACH" and each.severity is not Severity.INFO
    ]
