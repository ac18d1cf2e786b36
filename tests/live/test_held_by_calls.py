"""Requests that nobody reads while a call for the one before on their connection is under way."""

from __future__ import annotations

import socket

import pytest
from perfdiag.model.requests.request_time import PEERS, QUEUED

from live.support.calling import ask, fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

REQUESTS = 17

# Answers each question after so many seconds.
UPSTREAM = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while data := connection.recv(100):
    time.sleep(float(sys.argv[1]))
    connection.sendall(data)
"""

# An event loop that answers at once, and sends a copy upstream.  It reads on when that is answered, and so much later.
COPYING = """
import select, socket, sys, time
upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
loop, nothing = select.epoll(), select.epoll()
loop.register(connection, select.EPOLLIN)
loop.register(upstream, select.EPOLLIN)
loop.register(listener, select.EPOLLIN)
while True:
    for descriptor, _ in loop.poll():
        if descriptor == upstream.fileno():
            upstream.recv(100)
            nothing.poll(float(sys.argv[2]))
            loop.register(connection, select.EPOLLIN)
        elif request := connection.recv(100):
            upstream.sendall(b"?")
            connection.sendall(b"done")
            loop.unregister(connection)
        else:
            sys.exit()
"""


@pytest.mark.quiet
@pytest.mark.parametrize(("call_s", "later_s", "told"), [(0.03, 0, True), (0, 0.03, False)], ids=["call", "no-call"])
def test_whom_an_unread_request_waits_for(
    call_s: float, later_s: float, told: bool, attach: Attach, cleanup: Cleanup
) -> None:
    """A loop that is idle and does not read waits for a peer while it has a call outstanding, else for itself."""
    _, upstream = cleanup.enter_context(running_server(UPSTREAM, call_s))
    pid, port = cleanup.enter_context(running_server(COPYING, upstream, later_s))
    with socket.create_connection(("127.0.0.1", port)) as client:
        ask(client, 2)
        recorder = attach(pid)
        ask(client, REQUESTS)
        model = model_of(recorder.stop())
    time = model.request_time
    assert time
    waited_ns = time.ns - sum(ns for name, ns in time.accounts.items() if name.startswith(("runq.", "cpu.")))
    assert time.accounts[PEERS if told else QUEUED] > 0.8 * waited_ns, time
    assert [bool(fault(model, id)) for id in ("NET-PEER-SLOW", "READER-NOT-LISTENING")] == [told, not told], model
    line = next(each.line for each in model.exchanges if each.served)
    assert (line.unread_peers_ns > 0.8 * line.read_delay_ns) == told, line
