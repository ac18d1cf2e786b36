"""Servers of several processes, one of which at a time has the turn to wait for the next connection."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

# Each of four processes locks a file, waits for a connection, unlocks and answers; `slow`: it works before it unlocks.
PREFORK = """
import fcntl, os, select, socket, sys, time
path, slow = sys.argv[1], sys.argv[2] == "True"
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
for _ in range(4):
    if not os.fork():
        lock = open(path, "w")
        while True:
            fcntl.flock(lock, fcntl.LOCK_EX)
            select.select([listener], [], [])
            connection = listener.accept()[0]
            if slow:
                time.sleep(0.05)
            fcntl.flock(lock, fcntl.LOCK_UN)
            connection.recv(100)
            connection.sendall(b"done")
            connection.close()
os.wait()
"""


def ask(port: int, count: int) -> None:
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"please")
            assert connection.recv(10) == b"done"


@pytest.mark.parametrize(("asked", "slow", "idle"), [(0, False, True), (5, False, True), (40, True, False)])
def test_who_waits_for_the_turn_to_accept_is_idle(
    asked: int, slow: bool, idle: bool, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    server = running_server(PREFORK, tmp_path / "accept.lock", slow, prepare=os.setsid)
    pid, port = cleanup.enter_context(server)
    cleanup.callback(os.killpg, pid, signal.SIGKILL)
    ask(port, 8)
    recorder = attach(pid, duration_ns=2_000_000_000)
    ask(port, asked)
    model = model_of(recorder.wait())
    waited_ns = 3 * model.window_ns  # by those without the turn
    assert (model.ns("wait.work") > 0.9 * waited_ns) == idle, model.accounts
    assert (model.ns("lock.file") < 0.05 * waited_ns) == idle, model.accounts
    found = [each.id for each in diagnose(model).findings if each.severity is not Severity.INFO]
    assert not (idle and "LOCK-CONTENTION" in found), found
