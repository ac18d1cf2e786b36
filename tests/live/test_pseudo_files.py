"""Waits at what looks like a file and is none: no disk is slow there, and whoever reads waits for work or an answer."""

from __future__ import annotations

import pytest

from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.recording import ns_of, table
from live.support.snippets import recorded_snippet

TIMES, EACH_NS = 13, 50_000_000
# Waits so many times for 50 ms, and nothing comes.
WAITS = """
import os, pty, select, socket, struct, sys, termios
TIMEOUT = socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 0, 50000)
def polled(fd):
    poll = select.poll()
    poll.register(fd, select.POLLPRI)
    return lambda: poll.poll(50)
def received(family, kind, protocol):
    own = socket.socket(family, kind, protocol)
    own.setsockopt(*TIMEOUT)
    def receive():
        try:
            own.recv(1)
        except BlockingIOError:
            pass
    return receive
def terminal():
    _, own = pty.openpty()
    modes = termios.tcgetattr(own)
    modes[3] &= ~termios.ICANON
    modes[6][termios.VMIN], modes[6][termios.VTIME] = 0, 1  # 100 ms
    termios.tcsetattr(own, termios.TCSANOW, modes)
    return lambda: os.read(own, 1)
wait = {
    "pidfd": lambda: polled(os.pidfd_open(1)),
    "mounts": lambda: polled(os.open("/proc/self/mounts", os.O_RDONLY)),
    "netlink": lambda: received(socket.AF_NETLINK, socket.SOCK_RAW, 0),
    "packet": lambda: received(socket.AF_PACKET, socket.SOCK_RAW, 0),
    "terminal": terminal,
}[sys.argv[1]]()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    wait()
"""


@pytest.mark.parametrize(
    ("what", "account"),
    [
        ("pidfd", "wait.events"),
        ("mounts", "wait.events"),
        ("netlink", "wait.parked"),
        ("packet", "wait.parked"),
        ("terminal", "wait.parked"),
    ],
)
def test_what_is_no_disk(what: str, account: str, attach: Attach, cleanup: Cleanup) -> None:
    recording, pid = recorded_snippet(attach, cleanup, WAITS, what, TIMES)
    model, thread = model_of(recording), recording.thread(pid)
    assert model.ns(account) > 0.9 * TIMES * EACH_NS, table(thread)
    assert not model.ns("disk.") and not ns_of(thread, "disk.read")
