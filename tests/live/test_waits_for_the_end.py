"""Requests that have the answer of a peer, and wait until it closes the connection."""

from __future__ import annotations

import pytest
from perfdiag.recording import schema

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

MS = 1_000_000
WINDOW_MS, KEPT_MS = 3000, 100

# Answers at once; 100 ms later it closes, after another piece of its answer if it is asked for "rest".
PEER = """
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(connection):
    how = connection.recv(100)
    connection.sendall(b"!")
    time.sleep(0.1)
    if how == b"rest":
        connection.sendall(b"!")
    connection.close()
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""

# Asks the peer for each request, and reads until the end: before its own answer, or ("kept") after it.
SERVER = """
import socket, sys
how, port = sys.argv[1], int(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client = listener.accept()[0]
    client.recv(100)
    peer = socket.create_connection(("127.0.0.1", port))
    peer.sendall(how.encode())
    if how == "kept":
        peer.recv(100)
        client.sendall(b"an answer")
    while peer.recv(100):
        pass
    if how != "kept":
        client.sendall(b"an answer")
    client.close()
    peer.close()
"""

CLIENT = """
import socket, sys
print(0, flush=True)
while True:
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(b"a request")
    while connection.recv(100):
        pass
"""


@pytest.mark.parametrize("how", ["end", "rest", "kept"])
def test_requests_that_wait_for_no_more_than_the_end(how: str, attach: Attach, cleanup: Cleanup) -> None:
    _, peer = cleanup.enter_context(running_server(PEER))
    pid, port = cleanup.enter_context(running_server(SERVER, how, peer))
    cleanup.enter_context(running_server(CLIENT, port))
    recording = attach(pid, only=True, duration_ns=WINDOW_MS * MS).wait()
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "connected"]
    assert line.count > 5, line
    found = fault(model_of(recording), "NET-PEER-SLOW")
    told = found is not None and "requests wait until it closes" in found.headline
    if how != "end":
        assert not line.until_end and not line.until_end_ns and not told, line
        return
    assert line.count - 2 <= line.until_end <= line.count + 1, line
    assert line.until_end_ns and 0.9 * KEPT_MS < line.until_end_ns / line.until_end / MS < 2 * KEPT_MS, line
    assert told, found
