"""Answers whose end this host's kernel holds back, told from those that leave at once (NET-DELAYED-ACK)."""

from __future__ import annotations

import socket
import time

import pytest
from perfdiag.model.requests.request_time import HELD

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

MS = 1_000_000
TICK_NS = 10 * MS  # the longest that kernels are built with
WARM, REQUESTS = 40, 23  # at first every segment is acknowledged at once

# Answers each question of a client with head and body, so many milliseconds after it has read it, and is busy for some
# more before it reads another one.
ANSWERING = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[1]))
while connection.recv(100):
    time.sleep(float(sys.argv[2]) / 1000)
    connection.sendall(b"head:")
    connection.sendall(b"body.")
    time.sleep(float(sys.argv[3]) / 1000)
"""


def ask(client: socket.socket, count: int, pause_ms: int = 0) -> int:
    """Return how long the answers took together, in ns."""
    whole_ns = 0
    for _ in range(count):
        begun_ns = time.monotonic_ns()
        client.sendall(b"question")
        got = b""
        while len(got) < 10:
            got += client.recv(10 - len(got))
        whole_ns += time.monotonic_ns() - begun_ns
        time.sleep(pause_ms / 1000)
    return whole_ns


@pytest.mark.parametrize(
    ("no_delay", "answer_ms", "busy_ms", "pause_ms", "found"),
    [(0, 0, 0, 0, True), (0, 0, 0, 17, True), (0, 0, 44, 0, True), (1, 0, 0, 0, False), (1, 44, 0, 0, False)],
    ids=["held-back", "then-pauses", "then-late", "healthy", "slow-server"],
)
def test_clients_wait_for_the_end_of_an_answer(
    no_delay: int, answer_ms: int, busy_ms: int, pause_ms: int, found: bool, attach: Attach, cleanup: Cleanup
) -> None:
    pid, port = cleanup.enter_context(running_server(ANSWERING, no_delay, answer_ms, busy_ms))
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask(client, WARM)
        recorder = attach(pid, only=True)
        waited_ns = ask(client, REQUESTS, pause_ms)
        ask(client, 1)
        model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == REQUESTS + 1 and line.held_ns is not None, line
    assert line.early == 0, line
    fired = fault(model, "NET-DELAYED-ACK")
    assert bool(fired) == found, (fired, line)
    if not found:
        assert line.held_ns == 0, line
        return
    assert fired is not None and fired.share > 0.8 and fired.claims == {HELD: model.request_time.accounts[HELD]}, fired
    # Of each one as long as the clock's tick is not known; of the last one, which was not asked behind, nothing.
    assert abs(line.held_ns - waited_ns) <= REQUESTS * TICK_NS, (line, waited_ns)
    assert abs(line.sum_ns - waited_ns) <= 0.05 * waited_ns + 2 * TICK_NS, (line, waited_ns)


# Keeps the end of each answer back itself, for 80 ms.
CORKED = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(100):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    connection.sendall(bytes(300_000))
    time.sleep(0.08)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
"""


def test_what_a_server_corks_is_not_held_by_the_kernel(attach: Attach, cleanup: Cleanup) -> None:
    pid, port = cleanup.enter_context(running_server(CORKED))
    with socket.create_connection(("127.0.0.1", port)) as client:
        recorder = attach(pid, only=True)
        for _ in range(11):
            client.sendall(b"question")
            left = 300_000
            while left:
                left -= len(client.recv(left))
        model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == 11 and line.held_ns == 0, line
    assert fault(model, "NET-DELAYED-ACK") is None
