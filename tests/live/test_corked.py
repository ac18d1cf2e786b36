"""Answers and calls whose end waits in this host's kernel for more to be sent (NET-CORKED)."""

from __future__ import annotations

import socket

import pytest
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import CORKED

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.test_held_answers import MS, TICK_NS, ask

REQUESTS = 17
OTHERS = ("NET-DELAYED-ACK", "NET-PEER-SLOW", "NET-SLOW-CLIENT")

# Corks its socket for each answer, and takes the cork away so many milliseconds after the last byte: "never", too; or
# says with each answer that more will come.
ANSWERING = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while connection.recv(100):
    if sys.argv[1] == "more":
        connection.send(b"head:body.", socket.MSG_MORE)
        continue
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    connection.sendall(b"head:")
    connection.sendall(b"body.")
    if sys.argv[1] != "never":
        time.sleep(float(sys.argv[1]) / 1000)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
"""

# Reads a request of one line and asks the upstream, in a socket that it corks, or not.
ASKING = """
import socket, sys
upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, int(sys.argv[2]))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(100):
    upstream.sendall(b"question")
    upstream.recv(10)
    connection.sendall(b"head:body.")
"""


def judged(model: Model, found: bool) -> None:
    fired = fault(model, "NET-CORKED")
    assert bool(fired) == found, fired
    assert not any(fault(model, id) for id in OTHERS)


@pytest.mark.parametrize(
    ("uncorked", "kept_ms"), [("never", 200), ("more", 200), (80, 80), (0, 0)], ids=["never", "more", "late", "at-once"]
)
def test_clients_wait_for_what_a_server_corks(
    uncorked: str | int, kept_ms: int, attach: Attach, cleanup: Cleanup
) -> None:
    pid, port = cleanup.enter_context(running_server(ANSWERING, uncorked))
    with socket.create_connection(("127.0.0.1", port)) as client:
        recorder = attach(pid, only=True)
        waited_ns = ask(client, REQUESTS)
        ask(client, 1)
        model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == REQUESTS + 1 and line.held_ns == 0 and line.corked_ns is not None, line
    late_ns = REQUESTS * (TICK_NS + (20 * MS if uncorked == 80 else 0))  # who sleeps may sleep for longer
    assert -REQUESTS * TICK_NS <= line.corked_ns - REQUESTS * kept_ms * MS <= late_ns, line
    assert abs(line.sum_ns - waited_ns) <= 0.05 * waited_ns + kept_ms * MS + 2 * TICK_NS, (line, waited_ns)
    judged(model, bool(kept_ms))
    if kept_ms:
        assert model.request_time.accounts[CORKED] == line.corked_ns


@pytest.mark.parametrize("corked", [1, 0])
def test_calls_wait_in_a_socket_that_the_caller_corks(corked: int, attach: Attach, cleanup: Cleanup) -> None:
    _, upstream = cleanup.enter_context(running_server(ANSWERING, 0))
    pid, port = cleanup.enter_context(running_server(ASKING, upstream, corked))
    with socket.create_connection(("127.0.0.1", port)) as client:
        recorder = attach(pid, only=True)
        ask(client, REQUESTS)
        model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.line.direction == "connected"]
    assert line.count == REQUESTS and line.corked_ns is not None, line
    assert abs(line.corked_ns - REQUESTS * 200 * corked * MS) <= REQUESTS * TICK_NS, line
    judged(model, bool(corked))
