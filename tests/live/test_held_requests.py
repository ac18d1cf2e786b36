"""Requests in two pieces whose rest a client's kernel holds back, told from clients that are slow themselves."""

from __future__ import annotations

import socket
import time

import pytest
from perfdiag.diagnosis import engine

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

WARM, REQUESTS = 40, 23  # at first every segment is acknowledged at once

# Answers each request of ten bytes at once.
SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
got = 0
while data := connection.recv(10 - got):
    got = (got + len(data)) % 10
    if not got:
        connection.sendall(b"!")
"""


def ask(client: socket.socket, count: int, pause_s: float) -> None:
    for _ in range(count):
        client.sendall(b"head:")
        time.sleep(pause_s)
        client.sendall(b"body.")
        assert client.recv(1) == b"!"


@pytest.mark.parametrize(
    ("no_delay", "pause_s", "found"),
    [(0, 0, "NET-DELAYED-ACK"), (1, 0, None), (1, 0.02, "NET-SLOW-CLIENT"), (1, 0.1, None)],
    ids=["held-back", "healthy", "slow-client", "slower-client"],
)
def test_why_requests_arrive_late(
    no_delay: int, pause_s: float, found: str | None, attach: Attach, cleanup: Cleanup
) -> None:
    """After a longer pause nothing tells the rest of a request without a name from another message."""
    pid, port = cleanup.enter_context(running_server(SERVER))
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, no_delay)
        ask(client, WARM, 0)
        recorder = attach(pid)
        ask(client, REQUESTS, pause_s)
        model = model_of(recorder.stop())
    (served,) = [each.line for each in model.exchanges if each.served]
    assert served.count >= REQUESTS - 1 and (served.unsure > 0.9 * REQUESTS) == (pause_s > 0.05), served
    faults = [each for each in engine.diagnose(model).findings if each.severity.value != "info"]
    assert [each.id for each in faults] == ([found] if found else []), faults
    assert not faults or faults[0].share > 0.9, faults
