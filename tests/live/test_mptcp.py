"""Connections over MPTCP, which some programs listen for and connect by without a word of their own (Go)."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Iterator
from subprocess import PIPE, Popen

import pytest

from live.support import laws
from live.support.calling import running_server
from live.support.fixtures import Attach
from live.support.serving import asked, exchanged, http, served, stopped

MS = 1_000_000
MPTCP = 262
REQUESTS = 20
SLEEP_NS = 20 * MS

SERVER = """
import socket, threading, time
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.bind(("127.0.0.1", 0))
listener.listen(9)
print(listener.getsockname()[1], flush=True)
def serve(connection):
    while connection.recv(999):
        time.sleep(0.02)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""

# Asks as often as it is told to when it is told to go on, then lives on.
CLIENT = """
import socket, sys
connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
connection.connect(("127.0.0.1", int(sys.argv[1])))
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    connection.sendall(b"GET /m HTTP/1.1\\r\\n\\r\\n")
    connection.recv(999)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def port_and_pid() -> Iterator[tuple[int, int]]:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP).close()
    except OSError as error:
        pytest.skip(f"no MPTCP here: {error}")
    with running_server(SERVER) as (pid, port):
        yield port, pid


def test_requests_are_followed(port_and_pid: tuple[int, int], attach: Attach) -> None:
    """They were not seen at all: no request was too slow.  And the clients were accused of slow answers."""
    port, pid = port_and_pid
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)) as before:
        before.connect(("127.0.0.1", port))
        asked(before, http("/m"))
        recorder = attach(pid)
        for _ in range(REQUESTS):
            asked(before, http("/m"))
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)) as new:
            new.connect(("127.0.0.1", port))
            for _ in range(REQUESTS):
                asked(new, http("/m"))
        recording = stopped(recorder)
    laws.check(recording)
    requests = served(recording, "GET /m")
    assert requests.line.count == 2 * REQUESTS
    assert SLEEP_NS < requests.line.sum_ns / requests.line.count < 2 * SLEEP_NS, requests.line
    assert not recording.details("net.receive"), "its clients owe it no answer"


def test_calls_are_followed(port_and_pid: tuple[int, int], attach: Attach) -> None:
    port, _ = port_and_pid
    words = [sys.executable, "-c", CLIENT, str(port), str(REQUESTS)]
    with Popen(words, stdin=PIPE, stdout=PIPE) as client:
        assert client.stdin and client.stdout
        recorder = attach(client.pid)
        client.stdin.write(b"\n")
        client.stdin.flush()
        assert client.stdout.readline() == b"done\n"
        recording = stopped(recorder)
        client.stdin.close()
    laws.check(recording)
    (calls,) = exchanged(recording, "connected").values()
    assert (calls.line.object, calls.line.count) == (f"peer:127.0.0.1:{port}", REQUESTS)
    assert SLEEP_NS < calls.line.sum_ns / calls.line.count < 2 * SLEEP_NS, calls.line
