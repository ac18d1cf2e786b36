"""Waits at what looks like a file and is none: no disk is slow there, whoever reads waits for work or an answer, and
whoever polls waits for events."""

from __future__ import annotations

import pytest

from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.recording import ns_of, table
from live.support.snippets import recorded_snippet

TIMES, EACH_NS = 13, 50_000_000
# Waits so many times for 50 ms, and nothing comes.
WAITS = """
import ctypes, fcntl, os, platform, pty, select, signal, socket, struct, sys, termios
TIMEOUT = socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 0, 50000)
def polled(fd, events=select.POLLPRI):
    poll = select.poll()
    poll.register(fd, events)
    return lambda: poll.poll(50)
def read_from(fd):
    return polled(fd, select.POLLIN)
def selected(fd):
    return lambda: select.select([fd], [], [], 0.05)
def uevents():
    own = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15)
    own.bind((0, 1))
    return own.detach()
def messages():
    own = os.open("/dev/kmsg", os.O_RDONLY)
    os.lseek(own, 0, os.SEEK_END)
    return own
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
class Woken(Exception):
    pass
def wake(*_):
    raise Woken
def supervisor():
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000), 8)
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
    number = {"x86_64": 317, "aarch64": 277}[platform.machine()]
    own = ctypes.CDLL(None, use_errno=True).syscall(number, 1, 8, program)  # a filter, and its listener
    assert own >= 0, os.strerror(ctypes.get_errno())
    signal.signal(signal.SIGALRM, wake)
    def receive():
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            fcntl.ioctl(own, 0xC0502100, bytes(80))  # SECCOMP_IOCTL_NOTIF_RECV
        except Woken:
            pass
    return receive
wait = {
    "pidfd": lambda: polled(os.pidfd_open(1)),
    "mounts": lambda: polled(os.open("/proc/self/mounts", os.O_RDONLY)),
    "netlink": lambda: received(socket.AF_NETLINK, socket.SOCK_RAW, 0),
    "seccomp": supervisor,
    "packet": lambda: received(socket.AF_PACKET, socket.SOCK_RAW, 0),
    "terminal": terminal,
    "terminal polled": lambda: read_from(pty.openpty()[1]),
    "terminal selected": lambda: selected(pty.openpty()[1]),
    "its other end polled": lambda: read_from(pty.openpty()[0]),
    "uevents polled": lambda: read_from(uevents()),
    "messages polled": lambda: read_from(messages()),
    "packet polled": lambda: read_from(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).detach()),
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
        ("seccomp", "wait.events"),
        ("terminal", "wait.parked"),
        ("terminal polled", "wait.events"),  # top, curses
        ("terminal selected", "wait.events"),
        ("its other end polled", "wait.events"),  # who runs others at a terminal
        ("uevents polled", "wait.events"),
        ("messages polled", "wait.events"),
        ("packet polled", "wait.events"),
    ],
)
def test_what_is_no_disk(what: str, account: str, attach: Attach, cleanup: Cleanup) -> None:
    recording, pid = recorded_snippet(attach, cleanup, WAITS, what, TIMES)
    model, thread = model_of(recording), recording.thread(pid)
    assert model.ns(account) > 0.9 * TIMES * EACH_NS, table(thread)
    assert not model.ns("disk.") and not ns_of(thread, "disk.read")
