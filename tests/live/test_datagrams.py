"""UDP: what is sent to a peer and what comes back, by whichever call; whom nobody answers, and who feeds others."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.network.datagrams import unanswered
from perfdiag.recording import schema
from perfdiag.report.verdict.verdict import decide

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup, Serving
from live.support.model import model_of
from live.support.recording import Recording
from live.support.serving import stopped
from live.support.workload import PATIENCE_SECONDS

WINDOW_SECONDS, EACH_SECONDS = 2.0, 0.1
# PORT, HOW it sends, and what it does AFTER: it waits for the answer at most so long, or in a loop for anything.
CLIENT = """
import select, socket, sys, time
port, how, after = sys.argv[1:4]
family = socket.AF_INET6 if how == "sendto6" else socket.AF_INET
peer = ("::1" if how == "sendto6" else "127.0.0.1", int(port))
sender = socket.socket(family, socket.SOCK_DGRAM)
if how == "send":
    sender.connect(peer)
print(0, flush=True)
loop = select.epoll()
if after == "epoll":
    loop.register(sender, select.EPOLLIN)
while True:
    if how == "send":
        sender.send(b"question")
    elif how == "sendmsg":
        sender.sendmsg([b"question"], [], 0, peer)
    else:
        sender.sendto(b"question", peer)
    if after == "receive":
        sender.settimeout(EACH)
        try:
            sender.recv(100)
            time.sleep(EACH)
        except TimeoutError:
            pass
    else:
        loop.poll(EACH)
""".replace("EACH", str(EACH_SECONDS))
# A relay: passes on what comes in on its own port from a socket of its own, and what comes back, as resolvers do.
RELAY = """
import select, socket, sys
front, back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
front.bind(("127.0.0.1", 0))
print(front.getsockname()[1], flush=True)
while True:
    for ready in select.select([front, back], [], [])[0]:
        data, who = ready.recvfrom(100)
        if ready is front:
            client = who
            back.sendto(data, ("127.0.0.1", int(sys.argv[1])))
        else:
            front.sendto(data, client)
"""
ECHO = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    server.sendto(*server.recvfrom(100))
"""

# Sends a heartbeat to whoever has sent it something, and answers nothing.
BEATS = """
import socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
_, who = server.recvfrom(100)
while True:
    time.sleep(0.5)
    server.sendto(b"alive", who)
"""


def deaf(cleanup: Cleanup, family: socket.AddressFamily = socket.AF_INET) -> int:
    """Return the port of a socket that nobody reads."""
    server = cleanup.enter_context(socket.socket(family, socket.SOCK_DGRAM))
    server.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
    port: int = server.getsockname()[1]
    return port


def recorded(attach: Attach, pid: int) -> Recording:
    recorder = attach(pid)
    time.sleep(WINDOW_SECONDS)
    return stopped(recorder)


def sent(recording: Recording) -> schema.Exchange:
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "datagram"]
    return line


@pytest.mark.parametrize("how", ["send", "sendto", "sendmsg", "sendto6"])
def test_who_is_never_answered(how: str, attach: Attach, cleanup: Cleanup) -> None:
    """The thread waits for each answer in vain, and was told to be parked."""
    six = how == "sendto6"
    port = deaf(cleanup, socket.AF_INET6 if six else socket.AF_INET)
    pid, _ = cleanup.enter_context(running_server(CLIENT, port, how, "receive"))
    recording = recorded(attach, pid)
    line = sent(recording)
    assert line.object == f"peer:{'[::1]' if six else '127.0.0.1'}:{port}"
    assert 0.5 * WINDOW_SECONDS / EACH_SECONDS < line.unawaited <= 1.5 * WINDOW_SECONDS / EACH_SECONDS, line
    assert (line.count, line.untimed, line.open) == (0, 0, 1), line
    model = model_of(recording)
    found = fault(model, "NET-PEER-SLOW")
    assert found and f":{port} " in found.claim and f" {line.unawaited} datagrams" in found.claim, found
    assert decide(model, diagnose(model)).kind != "elsewhere"


def test_whose_feed_is_answered_by_heartbeats_alone(attach: Attach, cleanup: Cleanup) -> None:
    """Its waits end by their own timeout: nobody is slow that was asked for nothing."""
    _, port = cleanup.enter_context(running_server(BEATS))
    pid, _ = cleanup.enter_context(running_server(CLIENT, port, "send", "receive"))
    recording = recorded(attach, pid)
    line = sent(recording)
    assert 0 < line.untimed < line.unawaited / 2, line
    model = model_of(recording)
    assert model.ns("net.receive") > WINDOW_SECONDS * 0.5e9 and fault(model, "NET-PEER-SLOW") is None, model.accounts
    assert decide(model, diagnose(model)).kind != "elsewhere"


def test_who_is_answered(attach: Attach, cleanup: Cleanup) -> None:
    _, port = cleanup.enter_context(running_server(ECHO))
    pid, _ = cleanup.enter_context(running_server(CLIENT, port, "sendto", "receive"))
    recording = recorded(attach, pid)
    line = sent(recording)
    assert line.object == f"peer:127.0.0.1:{port}" and line.untimed >= line.unawaited - 1 > 5, line
    assert line.count >= line.unawaited - 1 and line.sum_ns < line.count * EACH_SECONDS * 1e9, line
    assert fault(model_of(recording), "NET-PEER-SLOW") is None


@pytest.mark.parametrize("how", ["send", "sendto"])
@pytest.mark.parametrize("after", ["epoll", "sleep"])
def test_a_loop_that_sends(how: str, after: str, attach: Attach, cleanup: Cleanup) -> None:
    """Nothing is said against a feed; where the loop has its socket, it may listen for an answer: no acquittal."""
    port = deaf(cleanup)
    pid, _ = cleanup.enter_context(running_server(CLIENT, port, how, after))
    recording = recorded(attach, pid)
    line = sent(recording)
    assert line.unawaited > 0.5 * WINDOW_SECONDS / EACH_SECONDS and not line.untimed, line
    assert line.awaited == (after == "epoll"), line
    model = model_of(recording)
    assert fault(model, "NET-PEER-SLOW") is None
    text = decide(model, diagnose(model)).text
    assert (f" {line.unawaited} datagrams" in text) is (after == "epoll"), text


@pytest.mark.parametrize("answers", [True, False])
def test_a_relay(answers: bool, attach: Attach, cleanup: Cleanup) -> None:
    """A resolver whose upstream is dead waits for work, as it seems: it was acquitted."""
    upstream = cleanup.enter_context(running_server(ECHO))[1] if answers else deaf(cleanup)
    pid, port = cleanup.enter_context(running_server(RELAY, upstream))
    cleanup.enter_context(running_server(CLIENT, port, "sendto", "receive"))
    recording = recorded(attach, pid)
    line = sent(recording)
    assert line.object == f"peer:127.0.0.1:{upstream}" and line.unawaited > 5
    (own,) = [line for line in recording.of(schema.Exchange) if line.direction == "datagram_port"]
    assert own.object == f"port:{port}" and abs(own.untimed - line.unawaited) <= 1, own
    assert own.unawaited == line.untimed and bool(line.untimed) is answers, (own, line)
    model = model_of(recording)
    found = decide(model, diagnose(model))
    assert found.kind != "elsewhere"
    assert bool(unanswered(model)) is not answers, unanswered(model)
    if answers:
        assert found.kind != "cannot tell", found
    else:  # on a busy host the wait for its CPUs leads, and what is unknown stands beside it
        assert found.kind == "cannot tell" or found.ids == ["CPU-CONTENTION"], found


def test_an_answer_under_way_when_the_recording_begins(serving: Serving, attach: Attach) -> None:
    """Its answers were calls, answered by the next question of a client that asks at once."""
    server = serving(f"datagrams({EACH_SECONDS})")
    ended = threading.Event()
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE_SECONDS)

        def ask() -> None:
            while not ended.is_set():
                client.sendto(b"question", ("127.0.0.1", server.port))
                client.recv(100)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            recording = recorded(attach, server.pid)
        finally:
            ended.set()
            asking.join()
    (line,) = recording.of(schema.Exchange)
    assert (line.direction, line.object, line.count) == ("datagram_port", f"port:{server.port}", 0), line
    assert line.untimed > 0.5 * WINDOW_SECONDS / EACH_SECONDS, line
