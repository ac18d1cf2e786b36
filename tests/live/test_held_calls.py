"""Calls that this host's kernel holds back, told from a peer that takes as long (NET-DELAYED-ACK, NET-PEER-SLOW)."""

from __future__ import annotations

import socket

import pytest

from live.support.calling import ask, fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

MS = 1_000_000
TICK_NS = 10 * MS  # the longest that kernels are built with
WARM, CALLS = 40, 23  # at first every segment is acknowledged at once

# Answers a question of ten bytes so many milliseconds after all of it has come.
UPSTREAM = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
got = 0
while data := connection.recv(10 - got):
    got = (got + len(data)) % 10
    if not got:
        time.sleep(float(sys.argv[1]) / 1000)
        connection.sendall(b"!")
"""

# Reads a request of one line, asks the upstream in two pieces, head and body, and answers.
ASKING = """
import socket, sys
upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[2]))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while connection.recv(100):
    upstream.sendall(b"head:")
    upstream.sendall(b"body.")
    upstream.recv(1)
    connection.sendall(b"done")
"""


@pytest.mark.parametrize(
    ("no_delay", "answer_ms", "found"),
    [(0, 0, "NET-DELAYED-ACK"), (1, 0, None), (1, 44, "NET-PEER-SLOW"), (0, 150, "NET-PEER-SLOW")],
    ids=["held-back", "healthy", "slow-peer", "mostly-slow-peer"],
)
def test_who_takes_forty_milliseconds(
    no_delay: int, answer_ms: int, found: str | None, attach: Attach, cleanup: Cleanup
) -> None:
    _, upstream = cleanup.enter_context(running_server(UPSTREAM, answer_ms))
    pid, port = cleanup.enter_context(running_server(ASKING, upstream, no_delay))
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask(client, WARM)
        recorder = attach(pid, only=True)
        ask(client, CALLS)
        model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.line.direction == "connected"]
    assert line.count == CALLS and line.held_ns is not None, line
    if no_delay:
        assert line.held_ns == 0, line
    elif not answer_ms:
        assert CALLS * (40 * MS - TICK_NS) <= line.held_ns <= line.sum_ns, line
    else:  # held back, too, but not for long: with so much time between them segments are acknowledged at once
        assert line.held_ns <= line.sum_ns - CALLS * (answer_ms * MS - TICK_NS), line
    for id in ("NET-DELAYED-ACK", "NET-PEER-SLOW"):
        fired = fault(model, id)
        assert bool(fired) == (id == found), (id, fired)
        assert fired is None or fired.share > 0.5, fired
