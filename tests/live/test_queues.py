"""Message queues that are full, and semaphores: who is behind them is known by the waits that it ends."""

from __future__ import annotations

import socket

import pytest
from perfdiag.diagnosis.rule import Mechanism, Relation

from live.support import laws
from live.support.calling import ask, fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of

# Sends to a queue out of which another process takes a message every 10 ms.
SENDS = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
message = ctypes.create_string_buffer(b"\\1", 4096)
if sys.argv[1] == "msgsnd":
    queue = libc.msgget(0, 0o600)
    send = lambda: libc.msgsnd(queue, message, ctypes.c_size_t(4000), 0)
    receive = lambda: libc.msgrcv(queue, message, ctypes.c_size_t(4000), ctypes.c_long(0), 0)
    ended = lambda: libc.msgctl(queue, 0, None)  # IPC_RMID
else:
    name = f"/perfdiag-{os.getpid()}".encode()
    queue = libc.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None)
    libc.mq_unlink(name)
    send = lambda: libc.mq_send(queue, message, ctypes.c_size_t(100), 0)
    receive = lambda: libc.mq_receive(queue, ctypes.create_string_buffer(65536), ctypes.c_size_t(65536), None)
    ended = lambda: 0
assert queue >= 0, ctypes.get_errno()
reader = os.fork()
if not reader:
    sender = os.getppid()
    while os.getppid() == sender:
        time.sleep(0.01)
        receive()
    ended()
    os._exit(0)
print(reader, flush=True)
while True:
    send()
"""


@pytest.mark.parametrize("call", ["msgsnd", "mq_send"])
def test_a_queue_whose_reader_is_slow(call: str, attach: Attach, cleanup: Cleanup) -> None:
    pid, reader = cleanup.enter_context(running_server(SENDS, call))
    recording = attach(pid, only=True, duration_ns=700_000_000).wait()
    laws.check(recording)
    check_model(recording)
    model = model_of(recording)
    found = fault(model, "QUEUE-FULL")
    assert found is not None and found.share > 0.5 and found.mechanism is Mechanism.SLOW, found
    assert [(each.pid, each.relation) for each in found.others] == [(reader, Relation.PEER)]
    assert found.others[0].comm.startswith("python"), found.others
    assert fault(model, "KERNEL-OTHER") is None


# Requests for which a semaphore is taken, that a child holds four times as long as it leaves it, asleep.
TAKES = """
import ctypes, os, socket, struct, time
libc = ctypes.CDLL(None, use_errno=True)
semaphore = libc.semget(0, 1, 0o600)
assert semaphore >= 0, ctypes.get_errno()
change = lambda number: libc.semop(semaphore, struct.pack("Hhh", 0, number, 0), ctypes.c_size_t(1))
change(1)
served = os.getpid()
if not os.fork():
    while os.getppid() == served:
        change(-1)
        time.sleep(0.04)
        change(1)
        time.sleep(0.01)
    libc.semctl(semaphore, 0, 0)  # IPC_RMID
    os._exit(0)
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    connection, _ = server.accept()
    while connection.recv(100):
        time.sleep(0.001)
        change(-1)
        change(1)
        connection.sendall(b"done")
"""


def test_requests_that_wait_for_a_semaphore(attach: Attach, cleanup: Cleanup) -> None:
    """Whoever holds it sleeps: the requests wait for that, as on a futex."""
    pid, port = cleanup.enter_context(running_server(TAKES))
    connection = cleanup.enter_context(socket.create_connection(("127.0.0.1", port)))
    recorder = attach(pid, duration_ns=2_000_000_000)
    ask(connection, 150)
    recording = recorder.wait()
    laws.check(recording)
    check_model(recording)
    model = model_of(recording)
    [line] = [each.line for each in model.exchanges if each.served]
    parts = {part.account: part.sum_ns for part in line.accounts}
    assert parts["wait.parked"] > 0.5 * line.sum_ns and "kernel.other" not in parts, line
    behind = [each for each in model.chains if each.inside and each.account == "wait.parked"]
    known_ns = sum(each.ns for each in behind if each.root == "wait.timer")
    assert known_ns > 0.8 * sum(each.ns for each in behind) > 0.5e9, behind
