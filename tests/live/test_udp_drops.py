"""Datagrams that a socket drops, because its receive buffer is full (NET-UDP-DROPS)."""

from __future__ import annotations

import socket

import pytest
from perfdiag.diagnosis.rule import Severity

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

# A service that takes 2 ms for each question, with a receive buffer of so many bytes; 0: with a filter instead.
SERVICE = """
import ctypes, socket, struct, sys, time
service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if int(sys.argv[1]):
    service.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[1]))
else:
    # a random number; if it is above a third of the most: return all of the datagram; else nothing of it
    filter = [(0x20, 0, 0, 0xFFFFF000 + 56), (0x35, 0, 1, 0x55555555), (6, 0, 0, 0xFFFF), (6, 0, 0, 0)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in filter))
    service.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxQ", len(filter), ctypes.addressof(code)))
service.bind(("127.0.0.1", 0))
print(service.getsockname()[1], flush=True)
while True:
    question, client = service.recvfrom(100)
    time.sleep(0.002)
    service.sendto(question, client)
"""
# For each request of a line asks the service for twelve things at once, and again for what is missing after 50 ms.
ASKING = """
import socket, sys
service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
service.connect(("127.0.0.1", int(sys.argv[1])))
service.settimeout(0.05)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(100):
    missing = {bytes([each]) for each in range(12)}
    while missing:
        for each in missing:
            service.send(each)
        try:
            while missing:
                missing.discard(service.recv(100))
        except TimeoutError:
            pass
    connection.sendall(b"done")
"""


@pytest.mark.parametrize("receives", [True, False], ids=["the service", "its client"])
@pytest.mark.parametrize(
    ("buffer_bytes", "drops"), [(1, True), (200_000, False), pytest.param(0, True, marks=pytest.mark.quiet)]
)
def test_a_full_receive_buffer(
    buffer_bytes: int, drops: bool, receives: bool, attach: Attach, cleanup: Cleanup
) -> None:
    service, port = cleanup.enter_context(running_server(SERVICE, buffer_bytes))
    pid, asked_at = cleanup.enter_context(running_server(ASKING, port))
    with socket.create_connection(("127.0.0.1", asked_at)) as client:
        recorder = attach(service if receives else pid, only=True)
        for _ in range(5):
            client.sendall(b"please")
            assert client.recv(10) == b"done"
        model = model_of(recorder.stop())
    assert model.facts.udp_drops is not None
    assert (model.facts.udp_drops.get(port, 0) >= 10) == drops, model.facts.udp_drops
    found = fault(model, "NET-UDP-DROPS")
    assert bool(found) == drops, found
    if found:
        assert str(port) in found.headline and found.severity is Severity.WARNING
        assert bool(found.claims) != receives
        assert ("its receive buffer is full" in found.headline) == bool(buffer_bytes), found.evidence
        assert fault(model, "NET-PEER-SLOW") is None
