"""What a process outside of the target does while that waits for it is seen, also behind another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model

from live.support.calling import running_client, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

ANSWER_MS = 50
# Answers each question on one connection at a time; `work` is what it does meanwhile.
SERVER = """
import hashlib, os, socket, sys, time
def sleeps():
    time.sleep({ms} / 1000)
def computes():
    end = time.thread_time() + {ms} / 1000
    while time.thread_time() < end:
        hashlib.sha256(b"x" * 100_000).digest()
def asks():
    for each in upstream:
        each.sendall(b"a question that is no acknowledgement " * 9)
        each.recv(100)
work, path, ports = sys.argv[1:]
upstream = [socket.create_connection(("127.0.0.1", int(port))) for port in ports.split(",")] if work == "asks" else []
listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
listener.bind(path or ("127.0.0.1", 0))
listener.listen()
print(0 if path else listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    while connection.recv(4096):
        globals()[work]()
        connection.sendall(b"answer")
"""
CLIENT = """
import socket, sys
path, port, limit = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
connection.settimeout(float(limit) or None)  # where there is one, it waits in poll()
connection.connect(path or ("127.0.0.1", int(port)))
print(0, flush=True)
while True:
    connection.sendall(b"a question that is no acknowledgement " * 9)
    connection.recv(100)
"""
# Asks the server for each request of its own, and waits for the answer in an event loop.
LOOP = """
import asyncio, sys
async def serve(reader, writer):
    there, here = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    while await reader.read(4096):
        here.write(b"a question that is no acknowledgement " * 9)
        await there.read(100)
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
ROOT = {"sleeps": "wait.timer", "computes": "cpu.user"}


def server(cleanup: Cleanup, work: str, path: str = "", port: int | str = 0) -> tuple[int, int]:
    return cleanup.enter_context(running_server(SERVER.format(ms=ANSWER_MS), work, path, port))


def seen_ns(model: Model, account: str, root: str, pid: int) -> int:
    """Return how long a process was in that while it was waited for."""
    lines = [each.line for each in model.peer_waits]
    return sum(
        each.sum_ns
        for each in lines
        if (each.account, each.root, each.root_pid or each.peer_pid) == (account, root, pid)  # 0: the thread has ended
    )


def slow_peer(model: Model, id: str) -> Finding:
    (found,) = [each for each in diagnose(model).findings if each.id == id and each.severity is Severity.WARNING]
    return found


@pytest.mark.parametrize("work", ["sleeps", "computes"])
@pytest.mark.parametrize("limit", [0, 30], ids=["recv", "poll"])
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_a_server_on_this_host(
    kind: str, limit: int, work: str, tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    path = str(tmp_path / "socket") if kind == "unix" else ""
    pid, port = server(cleanup, work, path)
    client, _ = cleanup.enter_context(running_server(CLIENT, path, port, limit))
    model = model_of(attach(client, duration_ns=2_000_000_000).wait())
    account = "ipc.unix" if path else "net.receive"
    assert model.ns(account) > 1_200_000_000, model.accounts
    told = "wait.events" if limit else account
    assert seen_ns(model, told, ROOT[work], pid) > 0.6 * model.ns(account), model.peer_waits
    found = slow_peer(model, "IPC-PEER-SLOW" if path else "NET-PEER-SLOW")
    assert f"({pid})" in found.headline and f" {work} in {work} " in found.headline, found.headline


def test_whom_the_server_waits_for(cleanup: Cleanup, attach: Attach) -> None:
    behind, upstream = server(cleanup, "sleeps")
    pid, port = server(cleanup, "asks", "", upstream)
    client, _ = cleanup.enter_context(running_server(CLIENT, "", port, 0))
    model = model_of(attach(client, duration_ns=2_000_000_000).wait())
    assert seen_ns(model, "net.receive", "wait.timer", behind) > 0.6 * model.ns("net.receive"), model.peer_waits
    headline = slow_peer(model, "NET-PEER-SLOW").headline
    assert f"({pid}) waits for python" in headline and f"({behind}), which sleeps in sleeps" in headline


def test_those_behind_a_server_are_told_apart(cleanup: Cleanup, attach: Attach) -> None:
    asked = [server(cleanup, "sleeps") for _ in range(3)]
    _, port = server(cleanup, "asks", "", ",".join(str(port) for _, port in asked))
    client, _ = cleanup.enter_context(running_server(CLIENT, "", port, 0))
    model = model_of(attach(client, duration_ns=2_000_000_000).wait())
    for pid, _ in asked:
        part = seen_ns(model, "net.receive", "wait.timer", pid) / model.ns("net.receive")
        assert 0.2 < part < 0.4, model.peer_waits
    (found,) = [each for each in diagnose(model).findings if each.id == "NET-PEER-SLOW"]
    assert "waits for python (3 processes), which sleep" in found.headline, found.headline
    assert all(f"({pid})" in found.remedies[0].text for pid, _ in asked), found.remedies


def test_one_in_between_that_works_as_well_is_not_taken_for_the_one_behind(cleanup: Cleanup, attach: Attach) -> None:
    """Its own millisecond took the time of whom it waits for, which is in the same account."""
    behind, port = server(cleanup, "computes")
    text = SERVER.replace("each.sendall", "hashlib.sha256(b'x' * 1_000_000).digest(); each.sendall", 1)
    between, own = cleanup.enter_context(running_server(text.format(ms=ANSWER_MS), "asks", "", port))
    client, _ = cleanup.enter_context(running_server(CLIENT, "", own, 0))
    model = model_of(attach(client, duration_ns=2_000_000_000).wait())
    own_ns, behind_ns = (seen_ns(model, "net.receive", "cpu.user", pid) for pid in (between, behind))
    behind_ns += seen_ns(model, "net.receive", "runq.busy", behind)  # a busy host's share of that
    assert behind_ns > max(5 * own_ns, 0.5 * model.ns("net.receive")), model.peer_waits


def test_calls_of_an_event_loop(cleanup: Cleanup, attach: Attach) -> None:
    pid, port = server(cleanup, "sleeps")
    loop, own = cleanup.enter_context(running_server(LOOP, port))
    cleanup.enter_context(running_client(own))
    model = model_of(attach(loop, duration_ns=2_000_000_000).wait())
    assert model.request_time is not None
    assert seen_ns(model, "wait.events", "wait.timer", pid) > 0.6 * model.request_time.ns, model.peer_waits
    assert f"({pid}) sleeps in sleeps " in slow_peer(model, "NET-PEER-SLOW").headline


def test_no_peer_is_looked_at_unless_that_is_wanted(cleanup: Cleanup, attach: Attach) -> None:
    pid, port = server(cleanup, "sleeps")
    client, _ = cleanup.enter_context(running_server(CLIENT, "", port, 0))
    model = model_of(attach(client, duration_ns=1_000_000_000, only=True).wait())
    assert not model.peer_waits and not model.peer_stacks, pid


def test_threads_that_a_peer_starts_are_looked_at_too(cleanup: Cleanup, attach: Attach) -> None:
    """A thread for each question."""
    text = SERVER.format(ms=ANSWER_MS).replace(
        "        globals()[work]()\n        connection.sendall",
        "        thread = threading.Thread(target=lambda: (sleeps(), connection.sendall(b'answer')))\n"
        "        thread.start()\n        continue\n        connection.sendall",
    )
    pid, port = cleanup.enter_context(running_server(f"import threading\n{text}", "sleeps", "", 0))
    client, _ = cleanup.enter_context(running_server(CLIENT, "", port, 0))
    model = model_of(attach(client, duration_ns=2_000_000_000).wait())
    assert seen_ns(model, "net.receive", "wait.timer", pid) > 0.6 * model.ns("net.receive"), model.peer_waits
