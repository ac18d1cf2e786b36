"""Look-ups that find nothing: counted by what was asked, and with the requests that made them."""

from __future__ import annotations

import socket

import pytest
from perfdiag.diagnosis.settings.unusual_settings import unusual_settings
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of
from live.support.recording import Recording

REQUESTS, MISSED = 40, 30
MARKER = "marker_9b2d"

# Has what the first of four requests asks for, and nothing for the others.
CACHE = """
import socket, sys
hit, miss = (bytes.fromhex(word) for word in sys.argv[1:])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, number = listener.accept()[0], 0
while connection.recv(100_000):
    connection.sendall(miss if number % 4 else hit)
    number += 1
"""

# Looks something up for each request, and makes it in 5 ms where it is not there.
SERVER = """
import socket, sys, time
port, asked, miss = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
cache = socket.create_connection(("127.0.0.1", port))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(1000):
    cache.sendall(asked)
    if cache.recv(1000) == miss:
        until = time.monotonic() + 0.005
        while time.monotonic() < until:
            pass
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
"""

KEY = MARKER.encode()
# By what is spoken: what is asked, an answer that has it, one that has not, and the name.
SPOKEN = {
    "redis": (b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(KEY), KEY), b"$1\r\n7\r\n", b"$-1\r\n", "GET"),
    "redis 3": (b"*3\r\n$4\r\nHGET\r\n$1\r\na\r\n$%d\r\n%s\r\n" % (len(KEY), KEY), b"$1\r\n7\r\n", b"_\r\n", "HGET"),
    "text": (b"get %s\r\n" % KEY, b"VALUE %s 0 1\r\n7\r\nEND\r\n" % KEY, b"END\r\n", "GET"),
    "meta": (b"mg %s v\r\n" % KEY, b"VA 1\r\n7\r\n", b"EN\r\n", "MG"),
    "binary": (
        bytes([0x80, 0, 0, len(KEY), 0, 0, 0, 0, 0, 0, 0, len(KEY), *[0] * 12]) + KEY,
        bytes([0x81, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 5, *[0] * 12]) + b"\0\0\0\0007",
        bytes([0x81, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9, *[0] * 12]) + b"Not found",
        "GET",
    ),
}


def recorded(attach: Attach, cleanup: Cleanup, asked: bytes, hit: bytes, miss: bytes) -> Recording:
    _, cache = cleanup.enter_context(running_server(CACHE, hit.hex(), miss.hex()))
    pid, port = cleanup.enter_context(running_server(SERVER, cache, asked.hex(), miss.hex()))
    recorder = attach(pid, only=True)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(REQUESTS):
            client.sendall(b"GET /cart HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(1000)
    recording = recorder.stop()
    check_model(recording)
    assert MARKER.encode() not in recording.path.read_bytes()
    return recording


@pytest.mark.parametrize("spoken", SPOKEN)
def test_what_is_not_there_is_counted(spoken: str, attach: Attach, cleanup: Cleanup) -> None:
    asked, hit, miss, name = SPOKEN[spoken]
    recording = recorded(attach, cleanup, asked, hit, miss)
    (line,) = recording.of(schema.NamedCall)
    assert (line.name, line.count, line.missed) == (name, REQUESTS, MISSED), line
    (served,) = [each for each in recording.of(schema.Exchange) if each.direction == "accepted"]
    assert served.missed == MISSED and 5_000_000 * MISSED < served.missed_ns < served.sum_ns, served
    (told,) = [each for each in unusual_settings(model_of(recording)) if name in each.text]
    assert told.text.startswith(f"{MISSED} of {REQUESTS} look-ups ({name}) in the cache 127.0.0.1:"), told
    least_ns = 0.5 * 5_000_000 * MISSED  # hits wait on a busy host, too
    assert told.explains and least_ns < told.ns < served.missed_ns, told
