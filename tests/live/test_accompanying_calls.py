"""Calls that other threads than the reader make for requests: as many are outstanding as requests are in progress."""

from __future__ import annotations

import socket

import pytest
from perfdiag.model.requests.request_time import PEERS
from perfdiag.recording import schema

from live.support import laws
from live.support.calling import ask, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of

REQUESTS, ANSWER_NS, GIVES_UP_NS = 23, 40_000_000, 150_000_000
MOSTLY = 0.8

# Answers each question after 40 ms, or never.
UPSTREAM = """
import socket, sys, threading, time
def serve(connection):
    while connection.recv(100):
        time.sleep(0.04)
        if sys.argv[1] == "answers":
            connection.sendall(b"answer")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

# One thread reads requests, another one asks the upstream, on a new connection each time, for 150 ms at most.
HANDING_ON = """
import queue, select, socket, sys, threading
def work():
    while True:
        connection = todo.get()
        with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as upstream:
            upstream.sendall(b"?")
            select.select([upstream], [], [], 0.15)
        connection.sendall(b"done")
todo = queue.Queue()
threading.Thread(target=work, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(100):
    todo.put(connection)
"""


@pytest.mark.parametrize(("upstream", "each_ns"), [("answers", ANSWER_NS), ("is silent", GIVES_UP_NS)])
def test_requests_that_go_from_thread_to_thread_wait_for_the_peer(
    upstream: str, each_ns: int, attach: Attach, cleanup: Cleanup
) -> None:
    _, peer = cleanup.enter_context(running_server(UPSTREAM, upstream))
    pid, port = cleanup.enter_context(running_server(HANDING_ON, peer))
    recorder = attach(pid, only=True)
    with socket.create_connection(("127.0.0.1", port)) as client:
        ask(client, REQUESTS)
    recording = recorder.stop()
    laws.check(recording)
    check_model(recording)
    (inside,) = recording.of(schema.RequestsInside)
    assert inside.accompanied_ns is not None and inside.alone_ns is not None
    assert inside.accompanied_ns > 0.95 * REQUESTS * each_ns, inside
    assert inside.alone_ns < 0.05 * inside.accompanied_ns, inside
    (call,) = (each for each in recording.of(schema.Exchange) if each.direction == "connected")
    if upstream == "is silent":  # a call lasts until its connection is closed
        assert (call.count, call.unanswered) == (0, REQUESTS)
        assert (call.unanswered_lasted_ns or 0) > 0.95 * REQUESTS * each_ns
    model = model_of(recording)
    assert model.request_time and model.request_time.accounts[PEERS] > MOSTLY * model.request_time.ns
