"""What a peer says first on a new connection, as servers of mail do, is waited for from when that was made."""

from __future__ import annotations

import time

import pytest

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

# Greets after so many milliseconds, and answers at once.
RELAY = """
import socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(connection):
    time.sleep(int(sys.argv[1]) / 1000)
    try:
        connection.sendall(b"220 ready")
        while connection.recv(100):
            connection.sendall(b"250 fine")
    except OSError:  # the sender has ended
        pass
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""

# Sends a mail over a connection of its own, again and again.
MAILS = """
import socket, sys
print(1, flush=True)
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as relay:
        relay.recv(100)
        for word in b"EHLO", b"MAIL":
            relay.sendall(word)
            relay.recv(100)
"""


@pytest.mark.parametrize("greets_ms", [60, 0])
def test_a_peer_that_greets_late(greets_ms: int, attach: Attach, cleanup: Cleanup) -> None:
    _, port = cleanup.enter_context(running_server(RELAY, greets_ms))
    pid, _ = cleanup.enter_context(running_server(MAILS, port))
    recorder = attach(pid)
    time.sleep(1.5)
    model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.line.direction == "connected"]
    assert line.greetings >= 10 and line.count >= 1.98 * line.greetings - 2, line
    if not greets_ms:
        assert line.greeting_ns < 10_000_000 * line.greetings, line
        return
    assert line.greeting_ns > 0.95 * greets_ms * 1_000_000 * line.greetings, line
    found = fault(model, "NET-PEER-SLOW")
    assert found is not None and "greets each new connection late" in found.headline, found
