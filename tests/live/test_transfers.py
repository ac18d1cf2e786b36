"""Calls that move data between a pipe and something else: which of the two is waited for."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism

from live.support import laws
from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of
from live.support.recording import ns_of, table

WINDOW_NS = 600_000_000
# Moves what another process gives or takes, every 20 ms.
MOVES = """
import ctypes, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
reading, writing = os.pipe()
copied, copy = os.pipe()
near, far = socket.socketpair()
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
page = ctypes.create_string_buffer(65536)
vector = Vector(ctypes.addressof(page), 65536)
def tee():
    count = libc.tee(reading, copy, 4096, 0)
    os.read(reading, count)
    os.read(copied, count)
def vmsplice():
    libc.vmsplice(writing, ctypes.byref(vector), ctypes.c_ulong(1), 0)
def out_of(pipe, to):
    return lambda: os.splice(pipe, to, 4096)
def into_empty():
    os.splice(near.fileno(), writing, 4096)
    os.read(reading, 4096)
def into_full():
    far.send(bytes(100))
    os.splice(near.fileno(), writing, 100)
give, take = lambda fd: os.write(fd, b"hello"), lambda fd: os.read(fd, 4096)
move, other, end = {
    "tee": (tee, give, writing),
    "vmsplice": (vmsplice, take, reading),
    "pipe to null": (out_of(reading, os.open("/dev/null", os.O_WRONLY)), give, writing),
    "pipe to socket": (out_of(reading, near.fileno()), give, writing),
    "socket to pipe": (into_empty, give, far.fileno()),
    "socket to full pipe": (into_full, take, reading),
}[sys.argv[1]]
if other is take:
    os.write(writing, bytes(65536))
if not os.fork():
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    while True:
        time.sleep(0.02)
        other(end)
        if sys.argv[1] == "pipe to socket":
            far.recv(4096)
print(0, flush=True)
while True:
    move()
"""


@pytest.mark.parametrize(
    ("how", "account", "slow"),
    [
        ("tee", "ipc.pipe", False),
        ("vmsplice", "ipc.pipe", True),
        ("pipe to null", "ipc.pipe", False),
        ("pipe to socket", "ipc.pipe", False),
        ("socket to pipe", "ipc.unix", False),
        ("socket to full pipe", "ipc.pipe", True),
    ],
)
def test_the_side_that_is_waited_for(how: str, account: str, slow: bool, attach: Attach, cleanup: Cleanup) -> None:
    """A reader that is slow is accused; of who writes it is not known whether there was anything to write."""
    pid, _ = cleanup.enter_context(running_server(MOVES, how))
    recording = attach(pid, only=True, duration_ns=WINDOW_NS).wait()
    laws.check(recording)
    check_model(recording)
    thread = recording.thread(pid)
    assert ns_of(thread, account) > 0.9 * WINDOW_NS, table(thread)
    assert not recording.details("kernel.other", "syscall:"), table(thread)
    found = [each for each in diagnose(model_of(recording)).findings if each.id == "IPC-PEER-SLOW"]
    assert any(each.mechanism is Mechanism.SLOW for each in found) is slow, found
