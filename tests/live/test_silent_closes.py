"""Requests and calls over sockets of whose ends nothing tells, unix ones and those of look-ups."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from perfdiag.diagnosis.evidence.requests.calls import longer
from perfdiag.model.requests.serving_threads import servers

from conftest import ROOT
from live.support.fixtures import Attach, Cleanup, Serving
from live.support.model import model_of
from live.support.serving import PROGRAM, answered, exchanged, http, served, stopped

MS = 1_000_000
HEADER = ROOT / "bpf/request/connection.bpf.h"

# One thread turns from one to the other of two connections, both of which stay open.
TURNING = """
listener = listening(path={path!r})
both = [listener.accept()[0] for _ in range(2)]
while all(map(head, both[:1])):
    both[0].sendall(OK)
    both.reverse()
"""

# Waits for requests by asking for them.
SPINNING = """
listener = listening(path={path!r})
connection = listener.accept()[0]
connection.setblocking(False)
while True:
    try:
        if not connection.recv(1000):
            break
    except BlockingIOError:
        continue
    connection.send(OK)
"""

# Asks one server so many times when it is told to, on a connection of its own each time.
SHORT = """
path, count = sys.argv[1], int(sys.argv[2])
sys.stdin.readline()
for _ in range(count):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(b"GET /short HTTP/1.1\\r\\n\\r\\n")
        connection.recv(100)
"""

# Asks a name server so many times, each time on another socket, which it soon closes; then lives on.
GIVING_UP = """
import socket, sys, time
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    with socket.socket(type=socket.SOCK_DGRAM) as asking:
        asking.connect(("127.0.0.57", 53))
        asking.send(b"?" * 40)
        time.sleep(0.01)
print("done", flush=True)
sys.stdin.readline()
"""

# One thread closes what it was asked on without an answer, and 5 ms later calls the upstream for itself.  By then the
# other one serves a connection whose socket lies where that one did, as all of this is on one CPU.
CLOSING = """
import os
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
upstream = socket.create_connection(("127.0.0.1", {upstream}))
def closes(connection):
    head(connection)
    connection.close()
    time.sleep(0.005)
    upstream.sendall(OK + END)
    upstream.recv(100)
closed, kept = listening(path={closed!r}), listening(path={kept!r})
threading.Thread(target=one_after_another, args=(closed, closes), daemon=True).start()
one_after_another(kept, sleeps(0.04))
"""


def test_requests_over_a_unix_socket(serving: Serving, attach: Attach, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    server = serving(f"thread_each(listening(path={str(path)!r}), sleeps(0.01))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        begin = time.monotonic_ns()
        for _ in range(29):
            connection.sendall(http("/unix"))
            answered(connection)
        client_ns = time.monotonic_ns() - begin
    requests = served(stopped(recorder), "GET /unix")
    assert requests.line.count == 29 and 29 * 10 * MS <= requests.line.sum_ns <= client_ns, requests.line


@pytest.mark.parametrize(
    "name", ["bus", "x" * 100, "x" * 60, "\x1b[2J:\x00\N{LATIN SMALL LETTER E WITH ACUTE}", "padded".ljust(107, "\0")]
)
def test_abstract_names(name: str, serving: Serving, attach: Attach) -> None:
    """Whatever bytes they are; of long ones the first."""
    name = f"{name[:1]}{os.getpid()}{name[1:]}"[:107]
    server = serving(f"thread_each(listening(path={chr(0) + name!r}), sleeps(0))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(7):
            connection.sendall(http("/abstract"))
            answered(connection)
    recording = stopped(recorder)
    requests = served(recording, "GET /abstract")
    assert (requests.line.count, requests.line.object) == (7, f"abstract:{name[:55]}"), requests.line


def test_what_was_read_before_the_kernel_says_so_was_not_there_since(
    serving: Serving, attach: Attach, tmp_path: Path
) -> None:
    """Who asks for data all the time has it sooner than the hook that tells of it; the next request begins later."""
    server = serving(SPINNING.format(path=str(tmp_path / "socket")))
    recorder = attach(server.pid)
    took_ns = []
    with server.connect() as connection:
        for _ in range(4_001):
            begin = time.monotonic_ns()
            connection.sendall(http("/spin"))
            answered(connection)
            took_ns.append(time.monotonic_ns() - begin)
            time.sleep(0.001)
    requests = served(stopped(recorder), "GET /spin")
    assert requests.line.count == len(took_ns), requests.line
    long_ns = 7 * MS // 10  # there is a pause before each that is longer
    assert longer(requests.whole, long_ns) <= sum(ns >= long_ns for ns in took_ns), requests.whole


def test_requests_that_wait_in_the_queue_of_a_listener(serving: Serving, attach: Attach, tmp_path: Path) -> None:
    """They begin when they come in, not when they are read: of a listener whose connections somebody has read from."""
    server = serving(f"one_after_another(listening(path={str(tmp_path / 'socket')!r}), sleeps(0.05))")
    recorder = attach(server.pid)
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(server.connect()) for _ in range(6)]
        begin_ns = time.monotonic_ns()
        for number, connection in enumerate(connections):
            connection.sendall(http("/queue"))
            if not number:
                time.sleep(0.02)  # this one is read
        sent_ns = time.monotonic_ns() - begin_ns
        for connection in connections:
            answered(connection)
            connection.close()
    requests = served(stopped(recorder), "GET /queue")
    waited_ns = sum(50 * MS * number - sent_ns for number in range(1, 6))
    assert requests.line.count == 6 and requests.line.sum_ns >= waited_ns + 6 * 50 * MS, requests.line
    assert waited_ns <= requests.line.read_delay_ns < 1.2 * waited_ns, requests.line


def test_a_worker_with_a_connection_for_each_request_is_no_loop(
    serving: Serving, attach: Attach, tmp_path: Path
) -> None:
    """The connection before has ended by the time it turns to the next one."""
    server = serving(f"one_after_another(listening(path={str(tmp_path / 'socket')!r}), sleeps(0.001))")
    recorder = attach(server.pid)
    for _ in range(101):
        with server.connect() as connection:
            connection.sendall(http("/each"))
            answered(connection)
    recording = stopped(recorder)
    requests = served(recording, "GET /each")
    assert (requests.line.count, requests.line.turns) == (101, 0), requests.line
    assert not servers(model_of(recording).threads).loop


def test_a_thread_that_turns_between_connections_is_one(serving: Serving, attach: Attach, tmp_path: Path) -> None:
    server = serving(TURNING.format(path=str(tmp_path / "socket")))
    recorder = attach(server.pid)
    with server.connect() as one, server.connect() as other:
        for _ in range(53):
            for connection in (one, other):
                connection.sendall(http("/turn"))
                answered(connection)
        recording = stopped(recorder)
    requests = served(recording, "GET /turn")
    assert (requests.line.count, requests.line.turns) == (106, 105), requests.line
    assert servers(model_of(recording).threads).loop


@pytest.mark.timeout(180)
def test_more_connections_than_are_followed_at_once(
    serving: Serving, attach: Attach, cleanup: Cleanup, tmp_path: Path
) -> None:
    """One after the other, of both whose ends are seen: each is followed, and none is left over."""
    most = re.search(r"__uint\(max_entries, (\d+)\);[^}]*} connections SEC", HEADER.read_text())
    assert most
    count = int(most[1]) // 2 + 5003
    path = str(tmp_path / "socket")
    server = serving(f"one_after_another(listening(path={path!r}), sleeps(0))")
    client = cleanup.enter_context(
        subprocess.Popen([sys.executable, "-c", PROGRAM + SHORT, path, str(count)], stdin=subprocess.PIPE)
    )
    cleanup.callback(client.kill)
    recorder = attach(server.pid, client.pid)
    client.communicate(b"\n")
    recording = stopped(recorder)
    requests = served(recording, "GET /short")
    (calls,) = exchanged(recording, "connected").values()
    lost = {name: number for name, number in recording.footer.lost.items() if number}
    assert (requests.line.count, requests.line.turns) == (count, 0), (requests.line, lost)
    # Hardly ever an answer is there before the kernel says that the first question on its socket was sent.
    assert calls.line.count + calls.line.unanswered == count and calls.line.unanswered < 5, (calls.line, lost)
    assert not recording.footer.lost["connections_full"]


def test_who_gets_an_address_gets_nothing_of_who_had_it(serving: Serving, attach: Attach, tmp_path: Path) -> None:
    upstream = serving("thread_each(listening(), sleeps(0.005))")
    closed, kept = str(tmp_path / "closed"), str(tmp_path / "kept")
    server = serving(CLOSING.format(upstream=upstream.port, closed=closed, kept=kept))
    recorder = attach(server.pid)
    affinity = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(affinity)})
    for _ in range(29):
        for server.address in (closed, kept):
            with server.connect() as connection:
                connection.sendall(http(server.address.removeprefix(str(tmp_path))))
                if server.address == kept:
                    answered(connection)
                else:
                    assert not connection.recv(100)
    os.sched_setaffinity(0, affinity)
    recording = stopped(recorder)
    found = {name: each.line for name, each in exchanged(recording, "accepted").items()}
    (calls,) = exchanged(recording, "connected").values()
    assert calls.line.count == found["GET /kept"].count == 29, (calls.line, found)
    assert not found["GET /kept"].peers_ns, found
    assert found["GET /closed"].unanswered == 29 and not found["GET /closed"].open, found
    assert not found["GET /closed"].unanswered_longest_ns, "nobody saw when they ended"


def test_look_ups_that_are_given_up(attach: Attach, cleanup: Cleanup) -> None:
    """Nobody waits for their answers any more when the window ends, the last one's neither."""
    silent = cleanup.enter_context(socket.socket(type=socket.SOCK_DGRAM))
    silent.bind(("127.0.0.57", 53))
    words = [sys.executable, "-c", GIVING_UP, "7"]
    process = cleanup.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    cleanup.callback(process.kill)
    assert process.stdin and process.stdout
    recorder = attach(process.pid)
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"done\n"
    (lookups,) = model_of(recorder.stop()).exchanges
    line = lookups.line
    assert (line.direction, line.count, line.unanswered, line.open) == ("lookup", 0, 7, 0), line
