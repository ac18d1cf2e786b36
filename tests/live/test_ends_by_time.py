"""Waits to receive that end by time: nobody's answer, unless one is owed."""

from __future__ import annotations

import pytest
from perfdiag.recording import schema

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.recording import Recording, count_of, ns_of

MS = 1_000_000
WINDOW_MS = 1500
LEAST_NS, FEW_NS = 1_000 * MS, 200 * MS  # of the window

# Answers "?" and takes everything else in silence.
PEER = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(connection):
    while data := connection.recv(100):
        if data == b"?":
            connection.sendall(b"!")
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""

# Waits again and again, 50 ms at the most each time, in the way and for the thing that are asked for.
WAITING = """
import os, select, socket, struct, subprocess, sys
print(0, flush=True)
how, port = sys.argv[1], int(sys.argv[2])
def connected():
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50_000))
    return connection
def received(connection):
    try:
        return connection.recv(100)
    except BlockingIOError:
        return b""
def polled(descriptor):
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return poll.poll(50)
connection = connected()
pipe, writer = os.pipe()
subprocess.Popen(["sleep", "9"], pass_fds=[writer], stdout=subprocess.DEVNULL)
os.close(writer)
while True:
    if how == "one-way":
        connection.sendall(b"a line")
        received(connection)
    elif how == "one-way, poll":
        connection.sendall(b"a line")
        polled(connection)
    elif how == "answered":
        connection.sendall(b"?")
        while received(connection):
            pass
    elif how == "goes on":
        connection.sendall(b"a question")
        polled(connection)
        connection.sendall(b"?")
        connection.setblocking(True)
        received(connection)
    elif how == "pipe":
        polled(pipe)
    elif how == "hung":
        connection.sendall(b"a question")
        received(connection)
        connection.close()
        connection = connected()
"""


def recorded(how: str, attach: Attach, cleanup: Cleanup) -> Recording:
    _, port = cleanup.enter_context(running_server(PEER))
    pid, _ = cleanup.enter_context(running_server(WAITING, how, port))
    recorder = attach(pid, only=True, duration_ns=WINDOW_MS * MS)
    return recorder.wait()


@pytest.mark.parametrize(
    ("how", "account"),
    [
        ("one-way", "wait.parked"),
        ("one-way, poll", "wait.parked"),
        ("answered", "wait.timer"),
        ("pipe", "wait.timer"),
    ],
)
def test_time_is_nobodys_answer(how: str, account: str, attach: Attach, cleanup: Cleanup) -> None:
    recording = recorded(how, attach, cleanup)
    model = model_of(recording)
    assert model.ns(account) >= LEAST_NS, model.accounts
    assert model.ns("net.receive", "ipc.pipe") < FEW_NS, model.accounts
    assert fault(model, "NET-PEER-SLOW") is None


def test_calls_that_nobody_waited_for_are_counted(attach: Attach, cleanup: Cleanup) -> None:
    recording = recorded("one-way", attach, cleanup)
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "connected"]
    waits = sum(count_of(thread, "net.receive") for thread in recording.threads)
    assert line.count == line.unanswered == 0 and line.open <= 1 and line.busy_ns < FEW_NS, line
    assert 0.8 * waits <= line.unawaited <= waits + 1, line


def test_a_peer_that_lets_its_clients_give_up_answers_nobody(attach: Attach, cleanup: Cleanup) -> None:
    """Each asks, waits in vain and hangs up: it needed that answer."""
    recording = recorded("hung", attach, cleanup)
    assert sum(ns_of(thread, "net.receive") for thread in recording.threads) >= LEAST_NS
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "connected"]
    assert 10 < line.timed_out <= line.unanswered and not line.count, line
    found = fault(model_of(recording), "NET-PEER-SLOW")
    assert found is not None and found.headline.startswith("Nobody answers at 127.0.0.1:"), found


def test_who_goes_on_after_a_timeout_and_is_answered_has_waited_in_vain(attach: Attach, cleanup: Cleanup) -> None:
    """As HTTP clients do that ask for "100 Continue" and get none: the peer answers at once when all is there."""
    recording = recorded("goes on", attach, cleanup)
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "connected"]
    assert line.unawaited > 10 and line.unawaited_ns is not None
    assert line.unawaited_ns / line.unawaited == pytest.approx(50 * MS, rel=0.2)
    found = fault(model_of(recording), "NET-PEER-SLOW")
    assert found is not None and "end by timeouts of the target" in found.headline and found.inside
