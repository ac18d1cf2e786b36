"""Requests that wait for their turn to call, against the number that is known to call at a time."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from perfdiag.diagnosis.evidence.network.concurrency_limits import limits
from perfdiag.recording.levels import above_ns, together_ns
from perfdiag.recording.schema.requests import Exchange, RequestsInside

from live.support.calling import ask, fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.recording import Recording

MS = 1_000_000
CLIENTS, LIMIT, CALL_MS, WINDOW_MS = 12, 3, 50, 2500

# Answers each question on any number of connections after so many milliseconds.
UPSTREAM = """
import socket, sys, threading, time
def serve(connection):
    while data := connection.recv(100):
        time.sleep(float(sys.argv[1]) / 1000)
        connection.sendall(data)
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""

# A thread for each client, and a connection to the upstream for each; so many of them ask it at a time.
LIMITED = """
import socket, sys, threading
turns = threading.Semaphore(int(sys.argv[2]))
def serve(connection):
    upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    while connection.recv(100):
        with turns:
            upstream.sendall(b"?")
            upstream.recv(100)
        connection.sendall(b"done")
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""


def recorded(limit: int, attach: Attach, cleanup: Cleanup, call_ms: int = CALL_MS) -> Recording:
    """Record a server of which all clients ask without a pause."""
    _, upstream = cleanup.enter_context(running_server(UPSTREAM, call_ms))
    pid, port = cleanup.enter_context(running_server(LIMITED, upstream, limit))
    over = threading.Event()

    def client() -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            while not over.is_set():
                ask(connection, 1)

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    try:
        return attach(pid, only=True, duration_ns=WINDOW_MS * MS).wait()
    finally:
        over.set()
        for thread in threads:
            thread.join()


def levels(recording: Recording) -> tuple[Exchange, RequestsInside]:
    (calls,) = [line for line in recording.of(Exchange) if line.direction == "connected"]
    (inside,) = recording.of(RequestsInside)
    return calls, inside


def test_calls_never_exceed_a_semaphore(attach: Attach, cleanup: Cleanup) -> None:
    """Twelve clients wait for three turns: three calls are under way nearly all the time, and twelve requests."""
    recording = recorded(LIMIT, attach, cleanup)
    calls, inside = levels(recording)
    assert calls.most == LIMIT and inside.most == CLIENTS and inside.unseen == 0, (calls, inside)
    assert [each.level for each in calls.levels] == [1, 2, 3], calls
    stood = calls.levels[-1]
    assert stood.sum_ns > 0.7 * above_ns(inside.levels, LIMIT) > 0.6 * WINDOW_MS * MS, (calls, inside)
    assert stood.answered >= 20 and stood.waited > 0.9 * stood.answered, calls
    assert sum(each.answered for each in calls.levels) == calls.count, calls
    open_ns = calls.oldest_ns * calls.open
    assert calls.sum_ns <= together_ns(calls.levels) <= 1.01 * (calls.sum_ns + open_ns) + CALL_MS * MS, calls
    assert calls.busy_ns == pytest.approx(sum(each.sum_ns for each in calls.levels), rel=0.01), calls
    model = model_of(recording)
    (limit,) = limits(model).values()
    assert limit.most == LIMIT and limit.waiting_most == CLIENTS - LIMIT
    assert limit.waiting == pytest.approx(CLIENTS - LIMIT, abs=1.5), limit
    slow = fault(model, "NET-PEER-SLOW")
    assert slow and f"most {LIMIT} calls" in slow.claim, slow


def test_calls_that_nothing_limits_are_as_many_as_requests(attach: Attach, cleanup: Cleanup) -> None:
    """The twin with room for 64: each request has its call under way."""
    recording = recorded(64, attach, cleanup)
    calls, inside = levels(recording)
    assert calls.most == inside.most == CLIENTS, (calls, inside)
    assert above_ns(inside.levels, CLIENTS) == 0
    stood = calls.levels[-1]
    assert stood.level == CLIENTS and stood.waited == 0 and stood.sum_ns > 0.7 * WINDOW_MS * MS, calls
    assert together_ns(calls.levels) > 0.8 * together_ns(inside.levels), (calls, inside)
    assert limits(model_of(recording)) == {}


def test_a_limit_in_front_of_a_fast_peer_stands_first(attach: Attach, cleanup: Cleanup) -> None:
    model = model_of(recorded(LIMIT, attach, cleanup, call_ms=6))
    found = fault(model, "CONCURRENCY-LIMIT")
    assert found and found.share > 0.5 and f"most {LIMIT} calls" in found.claim, found


def test_who_hangs_up_is_in_progress_no_more(attach: Attach, cleanup: Cleanup) -> None:
    """Nine of twelve clients go while their requests wait."""
    _, upstream = cleanup.enter_context(running_server(UPSTREAM, 700))
    pid, port = cleanup.enter_context(running_server(LIMITED, upstream, LIMIT))
    recorder = attach(pid, only=True)
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
    for client in clients:
        client.sendall(b"please\n")
    time.sleep(0.3)
    for client in clients[LIMIT:]:
        client.close()
    for client in clients[:LIMIT]:
        assert client.recv(100) == b"done"
        client.close()
    calls, inside = levels(recorder.stop())
    assert inside.most == CLIENTS and calls.most == LIMIT and inside.unseen == 0, (calls, inside)
