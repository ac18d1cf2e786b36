"""Who sends a signal to a thread that waits has not ended its wait: the call is made again, for the same thing."""

from __future__ import annotations

from pathlib import Path

from live.support.calling import running_client, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

HANDLER = "signal.signal(signal.SIGUSR1, lambda *_: None); signal.siginterrupt(signal.SIGUSR1, False)"
# Takes the lock of a file again and again, for so many ms.
LOCKER = f"""
import fcntl, signal, sys, time
{HANDLER}
file = open(sys.argv[1], "w")
print(0, flush=True)
while True:
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep(int(sys.argv[2]) / 1000)
    fcntl.flock(file, fcntl.LOCK_UN)
    time.sleep(0.002)
"""
# Answers each question by a child.
SERVER = f"""
import os, signal, socket, time
{HANDLER}
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
while connection.recv(100):
    child = os.fork()
    if not child:
        time.sleep(0.1)
        os._exit(0)
    os.waitpid(child, 0)
    connection.sendall(b"answer")
"""
SENDER = """
import hashlib, os, signal, sys, time
print(0, flush=True)
while True:
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        hashlib.sha256(b"x" * 100_000).digest()
    os.kill(int(sys.argv[1]), signal.SIGUSR1)
    time.sleep(0.006)
"""


def test_a_sender_is_not_taken_for_the_holder_of_a_lock(tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    cleanup.enter_context(running_server(LOCKER, tmp_path / "lock", 300))
    target, _ = cleanup.enter_context(running_server(LOCKER, tmp_path / "lock", 1))
    sender, _ = cleanup.enter_context(running_server(SENDER, target))
    model = model_of(attach(target, duration_ns=2_000_000_000).wait())
    assert model.ns("lock.file") > 1_000_000_000, model.accounts
    assert not [each.line for each in model.peer_waits if sender in (each.line.peer_pid, each.line.root_pid)]
    assert sender not in {row.waker_pid for row in model.rows_of("lock.file")}


def test_a_sender_is_not_taken_for_the_one_that_a_peer_waits_for(cleanup: Cleanup, attach: Attach) -> None:
    server, port = cleanup.enter_context(running_server(SERVER))
    client, _ = cleanup.enter_context(running_client(port, "question"))
    sender, _ = cleanup.enter_context(running_server(SENDER, server))
    model = model_of(attach(client, duration_ns=2_000_000_000).wait())
    lines = [each.line for each in model.peer_waits if each.line.account == "net.receive"]
    assert {"wait.child", "wait.timer"} & {line.root for line in lines}, lines
    assert sender not in {line.root_pid for line in lines}
