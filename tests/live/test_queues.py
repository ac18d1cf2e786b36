"""Message queues that are full: the reader is known by the waits that it ends."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Mechanism, Relation

from live.support import laws
from live.support.calling import fault, running_server
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
