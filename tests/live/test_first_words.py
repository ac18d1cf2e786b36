"""What a client says first on a new connection, and has answered once, is a request, however long its server sleeps."""

from __future__ import annotations

import socket

import pytest

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

MS = 1_000_000
LIMIT_NS = 50 * MS
ROUNDS = 10

# A thread for each connection. It sleeps before it answers, tells some news each 100 ms, or greets first.
SERVER = """
import socket, sys, threading, time
how = sys.argv[1]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(connection):
    if how == "greets":
        connection.sendall(b"hello")
    while connection.recv(100):
        for _ in range(3 if how == "tells" else 1):
            time.sleep(0.1)
            connection.sendall(b"answer")
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""


def encrypted(length: int) -> bytes:
    """Return what looks like a record of TLS."""
    return b"\x17\x03\x03" + length.to_bytes(2) + bytes(length)


@pytest.mark.parametrize("word", [b"question", encrypted(40)])
@pytest.mark.parametrize("how", ["sleeps", "tells", "greets"])
def test_the_first_words_of_connections(how: str, word: bytes, attach: Attach, cleanup: Cleanup) -> None:
    pid, port = cleanup.enter_context(running_server(SERVER, how))
    recorder = attach(pid, only=True, slo_ns=LIMIT_NS)
    for _ in range(ROUNDS):
        with socket.create_connection(("127.0.0.1", port)) as client:
            if how == "greets":
                client.recv(100)
            client.sendall(word)
            for _ in range(3 if how == "tells" else 1):
                client.recv(100)
    (line,) = [each.line for each in model_of(recorder.stop()).exchanges if each.served]
    if how == "sleeps":
        assert line.count == line.over_slo == ROUNDS and not line.unsure and not line.untimed, line
    elif how == "tells":  # of news: who subscribes gets more of it
        assert line.over_slo <= line.over_slo_unsure and line.untimed >= ROUNDS - 1, line
    else:
        assert line.count == line.unsure == ROUNDS, line
