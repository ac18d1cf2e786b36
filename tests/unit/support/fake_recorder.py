"""A recorder that measures nothing and needs no privilege: it speaks the control protocol and hands out a recording.

The test tells it what to do through the environment: FAKE_RECORDING (file to hand out), FAKE_LOG (file for what it
was told, as one JSON object), FAKE_PLAN, one of

    good      the window lasts as long as it was told, or until told to stop
    refused   the kernel refuses BPF programs          gone      the target is gone at the start
    early     dies by SIGKILL while it loads
    killed    dies by SIGKILL in the window, its recording without an end
    full      as good, but the file takes only the first line            silent    never answers
    slow      as good, but the programs take their time to be attached
    murder    the command that is held back is killed    cancelled told to end before the start
    set-user-id   was started so, which it refuses
    limited   as good, but neither the file nor memory takes more than the first line
"""

from __future__ import annotations

import array
import errno
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path


def main() -> int:  # noqa: PLR0912 (a recorder from start to end, with every way to fail)
    signal.alarm(60)  # some plans never answer: none may outlive its test for long
    plan = os.environ["FAKE_PLAN"]
    recording = Path(os.environ["FAKE_RECORDING"]).read_bytes()
    if plan == "set-user-id":
        print("error: perfdiag-recorder was started set-user-id\nHINT: chmod ug-s its file", file=sys.stderr)
        return 3
    if sys.argv[1] == "--check":
        if plan == "refused":
            print("error: the kernel refuses BPF programs: Operation not permitted", file=sys.stderr)
            return 3
        os.write(1, recording.splitlines(keepends=True)[0])
        return 0
    control = socket.socket(fileno=int(sys.argv[2]))
    if plan == "early":
        os.kill(os.getpid(), signal.SIGKILL)
    if plan == "silent":
        signal.pause()
    if plan == "refused":
        print("error: the kernel refuses BPF programs: Operation not permitted", file=sys.stderr)
        control.sendall(b"error 1 Operation not permitted\n")
        return 3
    control.sendall(b"loaded\n")
    orders, output = receive_orders(control)
    log = {"arguments": sys.argv[3:], "orders": orders, "at_start": state_of_command(orders)}
    log["oom_score"] = int(Path("/proc/self/oom_score_adj").read_text())
    Path(os.environ["FAKE_LOG"]).write_text(json.dumps(log))
    if plan == "gone":
        print("error: no thread of pid 1 is there any more", file=sys.stderr)
        control.sendall(b"error %d No such process\n" % errno.ESRCH)
        return 4
    if plan == "unseen":
        print("error: the kernel showed none of its threads\nHINT: start it again", file=sys.stderr)
        control.sendall(b"error %d Resource temporarily unavailable\n" % errno.EAGAIN)
        return 1
    if plan == "cancelled":
        control.sendall(b"error %d Operation canceled\n" % errno.ECANCELED)
        return 1
    if plan == "slow":
        time.sleep(0.5)
    if plan == "murder":
        os.kill(next(int(order.split()[1]) for order in orders if order.startswith("exec ")), signal.SIGKILL)
        time.sleep(0.2)  # until it is gone
    if "start" not in orders:
        return 1
    print("warning: memory cannot be locked: \x1b[31mno\x1b[0m", file=sys.stderr)
    control.sendall(b"attached\n")
    sinks = [1] if output is None else [1, output]
    if plan == "killed":
        write(recording[: len(recording) * 3 // 4], *sinks)
        os.kill(os.getpid(), signal.SIGKILL)
    duration = next(int(order.split()[1]) for order in orders if order.startswith("duration "))
    reason = wait(control, duration / 1e9 if duration else None)
    if plan in ("full", "limited"):
        limited = [sinks.pop()] if plan == "full" else sinks
        write(recording.splitlines(keepends=True)[0], *limited)
        print("error: the recording file is cut off: No space left on device", file=sys.stderr)
        sinks = [fd for fd in sinks if fd not in limited]
    if not write(recording, *sinks):
        reason = "output closed"
    control.sendall(f"done {reason}\n".encode())
    return 0


def receive_orders(control: socket.socket) -> tuple[list[str], int | None]:
    """Return all orders up to "start" (or the end), and the descriptor that came along."""
    received, output = b"", None
    while not received.endswith(b"start\n"):
        data, ancillary, _flags, _address = control.recvmsg(4096, socket.CMSG_SPACE(array.array("i").itemsize))
        for _level, _kind, content in ancillary:
            output = int.from_bytes(content[:4], sys.byteorder)
        if not data:
            break
        received += data
    return received.decode().splitlines(), output


def state_of_command(orders: list[str]) -> tuple[str, str] | None:
    """Return name and program of a held-back command before it is released."""
    for order in orders:
        if order.startswith("exec "):
            process = Path("/proc", order.split()[1])
            program = os.path.basename(os.readlink(process / "exe"))
            return (process / "comm").read_text().strip(), program.rstrip("0123456789.")
    return None


def wait(control: socket.socket, duration_s: float | None) -> str:
    end = None if duration_s is None else time.monotonic() + duration_s
    while True:
        left = None if end is None else max(0.0, end - time.monotonic())
        if not select.select([control], [], [], left)[0]:
            return "duration"
        received = control.recv(4096)
        if not received or b"stop\n" in received:
            return "signal"


def write(recording: bytes, *sinks: int) -> bool:
    """Return whether any sink took it."""
    taken = False
    for fd in sinks:
        try:
            with open(fd, "wb", closefd=False) as stream:
                stream.write(recording)
            taken = True
        except OSError:
            continue  # as the recorder does: one sink that fails is one less
    return taken


signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to everybody; "stop" is the order here
sys.exit(main())
