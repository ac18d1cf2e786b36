"""Answers that an event loop cannot write because the client does not take them, told from a loop that writes late."""

from __future__ import annotations

import socket
import time

import pytest
from perfdiag.model.requests.request_time import UNTAKEN

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

MS = 1_000_000
REQUESTS = 11
PIECE = 16 << 10
ANSWER = 40 * PIECE  # of which send buffer and receive buffer hold a few
PAUSE_MS = 4  # of a client, for each piece

# An event loop that answers each question with so many bytes, and is busy with something else for some milliseconds
# each time the send buffer has filled up: until then it finds out that there is room again.
ANSWERING = """
import select, socket, sys, time
size, busy = int(sys.argv[1]), float(sys.argv[2]) / 1000
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 << 10)
print(listener.getsockname()[1], flush=True)
epoll, left, connections = select.epoll(), {}, {}
epoll.register(listener, select.EPOLLIN)
def write(fd):
    try:
        while left[fd]:
            left[fd] -= connections[fd].send(bytes(left[fd]))
    except BlockingIOError:
        time.sleep(busy)
        epoll.modify(fd, select.EPOLLOUT)
    else:
        epoll.modify(fd, select.EPOLLIN)
while True:
    for fd, event in epoll.poll():
        if fd == listener.fileno():
            connection = listener.accept()[0]
            connection.setblocking(False)
            connections[connection.fileno()] = connection
            epoll.register(connection, select.EPOLLIN)
        elif event & select.EPOLLOUT:
            write(fd)
        elif connections[fd].recv(100):
            left[fd] = size
            write(fd)
        else:
            epoll.unregister(fd)
            connections.pop(fd).close()
"""

# The same with a thread that waits in send.
BLOCKING = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 << 10)
print(listener.getsockname()[1], flush=True)
while True:
    connection = listener.accept()[0]
    while connection.recv(100):
        connection.sendall(bytes(int(sys.argv[1])))
"""


def ask(port: int, pause_ms: int, count: int = REQUESTS) -> int:
    """Ask on one connection, each time taking the answer piece by piece; return how long that took in all, in ns."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        client.connect(("127.0.0.1", port))
        begun_ns = time.monotonic_ns()
        for _ in range(count):
            client.sendall(b"question")
            left = ANSWER
            while left:
                left -= len(client.recv(min(left, PIECE)))
                time.sleep(pause_ms / 1000)
        return time.monotonic_ns() - begun_ns


@pytest.mark.parametrize(
    ("busy_ms", "pause_ms", "found"),
    [(0, PAUSE_MS, True), (0, 0, False), (40, 0, False)],
    ids=["slow-client", "healthy", "late-loop"],
)
def test_an_event_loop_and_its_client(
    busy_ms: int, pause_ms: int, found: bool, attach: Attach, cleanup: Cleanup
) -> None:
    pid, port = cleanup.enter_context(running_server(ANSWERING, ANSWER, busy_ms))
    recorder = attach(pid, only=True)
    took_ns = ask(port, pause_ms)
    model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == REQUESTS and line.untaken_ns is not None, line
    fired = fault(model, "NET-SLOW-CLIENT")
    assert bool(fired) == found, (fired, line)
    if found:
        assert model.request_time and fired and fired.claims == {UNTAKEN: model.request_time.accounts[UNTAKEN]}, fired
        # Beside it the loop takes its time to wake up, and at its end each answer lies in buffers.
        assert 0.5 * took_ns < line.untaken_ns < line.sum_ns <= took_ns, (line, took_ns)
        assert line.untaken_window_ns == line.untaken_ns, "it is the client's window that is full"
    elif busy_ms:
        # Room is there long before the loop comes to see it.
        assert line.untaken_ns < 0.25 * line.sum_ns, line


def test_a_thread_that_waits_in_send_waits_there(attach: Attach, cleanup: Cleanup) -> None:
    pid, port = cleanup.enter_context(running_server(BLOCKING, ANSWER))
    recorder = attach(pid, only=True)
    ask(port, PAUSE_MS)
    model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == REQUESTS and line.untaken_ns is not None, line
    sending_ns = sum(part.sum_ns for part in line.accounts if part.account == "net.send")
    assert sending_ns > 0.5 * line.sum_ns and line.untaken_ns < 0.1 * line.sum_ns, line
    fired = fault(model, "NET-SLOW-CLIENT")
    assert fired and sum(fired.claims.values()) > 0.5 * line.sum_ns, fired


@pytest.mark.parametrize("leaves", [True, False])
def test_an_answer_that_is_not_taken_at_all(leaves: bool, attach: Attach, cleanup: Cleanup) -> None:
    """Nothing more is sent once the buffers are full: it was counted as answered within a millisecond."""
    pid, port = cleanup.enter_context(running_server(ANSWERING, 100 * ANSWER, 0))
    recorder = attach(pid, only=True)
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"?")
        time.sleep(0.7)
        if leaves:
            client.close()
        time.sleep(0.3)
        model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == 1 and line.untaken_ns, line
    assert 0.9 * line.sum_ns < line.untaken_ns <= line.sum_ns, line
    assert 690 * MS < line.sum_ns < 900 * MS if leaves else line.sum_ns > 990 * MS, line
