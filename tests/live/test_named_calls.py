"""What the target asks peers for, where plain text shows it: counted by name and request, and nothing else kept."""

from __future__ import annotations

import socket

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of
from live.support.recording import Recording

REQUESTS = 31
MARKER = "marker_5e1f"

# Answers whatever is asked after 30 ms, or at once.
PEER = """
import socket, threading, time
def serve(connection):
    while asked := connection.recv(100_000):
        if b"catalog" in asked:
            time.sleep(0.03)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

# For each request asks the peer for what the case says.
CLIENT = """
import os, socket, sys
port, case, marker = int(sys.argv[1]), sys.argv[2], sys.argv[3].encode()

def connected():
    return socket.create_connection(("127.0.0.1", port))

peer, number = connected(), 0

def http(path, method=b"GET"):
    return b"%s %s?key=%s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (method, path, marker, marker)

def command(*words):
    return b"*%d\\r\\n" % len(words) + b"".join(b"$%d\\r\\n%s\\r\\n" % (len(each), each) for each in words)

def send(data, way=peer.sendall):
    way(data)
    assert peer.recv(1000)

def calls():
    send(http(b"/catalog.wsdl"))
    send(http(b"/items/4711", b"POST"))

def vectors():
    send(http(b"/catalog.wsdl"), lambda data: peer.sendmsg([data[:70], data[70:]]))
    send(http(b"/items/4711", b"POST"), lambda data: os.writev(peer.fileno(), [data]))

def anew():
    global peer
    peer.close()
    peer = connected()
    send(http(b"/catalog.wsdl"), peer.sendall)

def redis():
    send(command(b"get", marker))
    send(command(b"HSET", marker, marker, marker * 1000))

def encrypted():
    send(b"\\x16\\3\\1\\0\\x40" + b"x" * 64)
    send(http(b"/catalog.wsdl"))

def other():
    for _ in range(9):
        send(b"\\0\\0\\0\\x10" + marker)
    send(http(b"/catalog.wsdl"))

def mixed():
    send(http(b"/catalog.wsdl"))
    for _ in range(3):
        send(b"\\0\\0\\0\\x10" + marker)

def distinct():
    global number
    for _ in range(20):
        number += 1
        send(http(b"/" + bytes(97 + number // 26 ** each % 26 for each in range(3))))

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(1000):
    globals()[case]()
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
"""

WORKER = """
import socket, sys
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print(0, flush=True)
while True:
    peer.sendall(b"*3\\r\\n$5\\r\\nBLPOP\\r\\n$7\\r\\ncatalog\\r\\n$1\\r\\n1\\r\\n")
    peer.recv(1000)
"""

ASKED = {
    "calls": {"GET /catalog.wsdl": REQUESTS, "POST /items/#": REQUESTS},
    "vectors": {"GET /catalog.wsdl": REQUESTS, "POST /items/#": REQUESTS},
    "anew": {"GET /catalog.wsdl": REQUESTS},
    "redis": {"GET": REQUESTS, "HSET": REQUESTS},
    "encrypted": {},
    "other": {},
    "mixed": {"GET /catalog.wsdl": REQUESTS},
}


def recorded(attach: Attach, cleanup: Cleanup, case: str, **options: list[str]) -> Recording:
    _, peer = cleanup.enter_context(running_server(PEER, first=True))
    pid, port = cleanup.enter_context(running_server(CLIENT, peer, case, MARKER, first=True))
    recorder = attach(pid, only=True, **options)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(REQUESTS):
            client.sendall(b"GET /cart HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(1000)
    recording = recorder.stop()
    check_model(recording)
    assert MARKER.encode() not in recording.path.read_bytes()
    return recording


@pytest.mark.parametrize("case", ASKED)
def test_calls_have_the_names_that_their_text_shows(case: str, attach: Attach, cleanup: Cleanup) -> None:
    recording = recorded(attach, cleanup, case)
    lines = recording.of(schema.NamedCall)
    assert {line.name: line.count for line in lines} == ASKED[case]
    assert {line.request for line in lines} <= {"GET /cart"}
    assert all(line.owned == line.count == sum(count for _, count in line.buckets) for line in lines)
    (exchange,) = [line for line in recording.of(schema.Exchange) if line.direction == "connected"]
    assert {line.object for line in lines} <= {exchange.object}
    assert sum(line.sum_ns for line in lines) <= exchange.sum_ns


def test_the_finding_of_a_slow_peer_says_what_is_asked_there(attach: Attach, cleanup: Cleanup) -> None:
    first = diagnose(model_of(recorded(attach, cleanup, "calls"))).findings[0]
    assert first.headline.endswith(": GET /catalog.wsdl"), first
    (said,) = [each.text for each in first.evidence if "GET /catalog.wsdl" in each.text]
    assert said.startswith(f"{REQUESTS} of {2 * REQUESTS} calls there, 1.0 a request, 30 ms each"), said


def test_no_names_are_kept_where_none_may_be(attach: Attach, cleanup: Cleanup) -> None:
    recording = recorded(attach, cleanup, "calls", first=["no-request-names"])
    assert not recording.of(schema.NamedCall)


def test_many_names_leave_room_for_those_of_requests(attach: Attach, cleanup: Cleanup) -> None:
    """Those beyond the table are counted together."""
    recording = recorded(attach, cleanup, "distinct")
    found = {line.name: line.count for line in recording.of(schema.NamedCall)}
    assert sum(found.values()) == 20 * REQUESTS and len(found) == 256 + 1
    assert found["(other names)"] == 20 * REQUESTS - 256
    assert [line.name for line in recording.of(schema.Exchange) if line.direction == "accepted"] == ["GET /cart"]


def test_a_worker_that_asks_for_jobs_is_idle_until_there_is_one(attach: Attach, cleanup: Cleanup) -> None:
    _, peer = cleanup.enter_context(running_server(PEER))
    pid, _ = cleanup.enter_context(running_server(WORKER, peer))
    model = model_of(attach(pid, duration_ns=1_000_000_000).wait())
    assert model.ns("wait.work") > 500_000_000 and not model.ns("net.receive"), model.accounts
    assert model.coverage.stack_agreement == 1
