"""Requests that lie in the queues of sockets that listen: nobody accepts their connections, whoever is idle."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema
from perfdiag.report.verdict.verdict import decide

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup, Serving
from live.support.model import model_of
from live.support.serving import asked, http, stopped

S = 1_000_000_000


def test_what_nobody_accepts_is_awaited_though_who_could_is_idle(serving: Serving, attach: Attach) -> None:
    """A server of one connection at a time is idle on that, and has asked nobody for long when the window begins."""
    server = serving("(lambda at: one_by_one(at.accept()[0]))(listening())")
    with server.connect() as served_now, server.connect() as behind:
        asked(served_now, http("/"))
        behind.sendall(http("/left"))
        time.sleep(0.02)
        recorder = attach(server.pid)
        time.sleep(0.5)
        recording = stopped(recorder)
    (line,) = recording.of(schema.RequestLeft)
    assert line.queued and line.earlier and line.count == 1 and line.oldest_ns >= 0.5 * S, line
    model = model_of(recording)
    assert [each.object for each in model.requests_awaited] == [f"port:{server.port}"]


UNIX_SERVER = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(16)
print(1, flush=True)
for _ in range(int(sys.argv[2])):
    connection = listener.accept()[0]
    while connection.recv(100):
        connection.sendall(b"done")
"""


@pytest.mark.parametrize("accepts", [False, True])
def test_what_nobody_accepts_at_a_unix_socket_is_awaited(
    accepts: bool, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    """It serves one connection, which was there before the window, or began in it, and accepts no other one."""
    path = str(tmp_path / "socket")
    pid, _ = cleanup.enter_context(running_server(UNIX_SERVER, path, 9))
    first, *others = (cleanup.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(4))
    recorder = attach(pid, only=True) if accepts else None
    first.connect(path)
    first.sendall(b"please")
    assert first.recv(10) == b"done"
    for each in others[:2]:
        each.connect(path)
        each.sendall(b"please")
    others[2].connect(path)  # and asks nothing
    recorder = recorder or attach(pid, only=True)
    time.sleep(0.5)
    recording = recorder.stop()
    (line,) = recording.of(schema.RequestLeft)
    assert line.queued and line.count == 2 and line.object.endswith(":socket"), line
    assert line.earlier != accepts and (line.oldest_ns >= 0.5 * S) == accepts, line
    text = decide(model := model_of(recording), diagnose(model)).text
    assert "2 requests on " in text and "still unread at the end" in text, text
