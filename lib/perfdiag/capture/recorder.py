"""Our side of the recorder: tell it what to follow, wait for the end of the window, pass on the recording.

The launcher started the recorder before Python and left three descriptors: a stream socket for orders and answers
(perfdiag-recorder(8)), the recording and the recorder's messages, both files in memory. When this process ends, in
whatever way, the socket closes and the recorder stops.
"""

from __future__ import annotations

import errno
import math
import os
import resource
import select
import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import BinaryIO

from perfdiag.capture import progress
from perfdiag.capture.target import Target
from perfdiag.common.deadline import is_stopped
from perfdiag.common.errors import HINTS, INSTALL_AGAIN, PerfdiagError, PermissionDenied, TargetGone, UsageError
from perfdiag.common.text import printable

ATTACH_TIMEOUT_S = 150.0  # of a host at its limit; of scripts, one engine after the other may be tried
SLOW_S = 5.0  # then it is said that it is waited for
END_TIMEOUT_S = 15.0  # what a host in trouble may take to write the rest down; after that it is reported without
KILLED_HINT = "if it was the OOM killer (see dmesg): give perfdiag 80 MiB of room, also in its control group"
CPU_LIMIT_GRAIN_S = 0.3  # the kernel counts ticks, which differ from the time used by that much on a busy host
DAMAGED_HINT = f"{INSTALL_AGAIN}; if that does not help, please report it"
KILLED = (-signal.SIGKILL, -signal.SIGXCPU)
DAMAGED = (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL)  # its file is cut short, or it has a bug
NOT_PERMITTED = 3  # exit status of the recorder
TICK_S = 0.1
QUIET_TICK_S = 1.0  # where nobody watches, the host is woken less
DIED = "recorder died"
STOPPED = "the recorder was stopped (SIGSTOP, or a debugger): it ends with perfdiag"
OUTPUT_CLOSED = "output closed"  # the recorder's word for: nothing takes the recording any more


@dataclass(frozen=True)
class Window:
    """How to record; `duration_ns` 0 is until told to stop."""

    duration_ns: int
    only: bool = False
    stacks: bool = False
    slo_ns: int | None = None  # of what has no limit of its own
    slo_names: Mapping[str, int] = field(default_factory=dict)
    request_names: bool = True
    host: bool = False  # all tasks instead of a target
    asked: str = ""  # how the target was chosen, fit to be shown: kept in the recording
    apps: bool = True  # counters of the programs that targets run are read
    max_cost_ppm: int | None = None  # what its programs may take of the target's CPU time, in parts per million


class Recorder:
    """The running recorder, as the launcher left it."""

    def __init__(self, control: socket.socket, recording_fd: int, messages_fd: int, pid: int) -> None:
        self._control, self._pid = control, pid
        self._recording_fd, self._messages_fd = recording_fd, messages_fd
        self._received = b""
        self._status: int | None = None  # with which it ended
        self._cpu_s = 0.0  # that it had used then

    @classmethod
    def inherited(cls) -> Recorder:
        """Take over what the launcher left. Raises UsageError if perfdiag was not started through it."""
        try:
            control, recording, messages, pid = (
                int(os.environ.pop(f"PERFDIAG_{name}"))
                for name in ("CONTROL_FD", "RECORDING_FD", "MESSAGES_FD", "RECORDER_PID")
            )
            for fd in (control, recording, messages):
                os.set_inheritable(fd, False)
            return cls(socket.socket(fileno=control), recording, messages, pid)
        except (KeyError, ValueError, OSError) as error:
            raise UsageError(
                "no recorder is running: perfdiag was not started through its launcher",
                "a wheel only reports: install the package, or start bin/perfdiag and write -- before a command",
            ) from error

    @property
    def pid(self) -> int:
        """The recorder's process."""
        return self._pid

    def wait_loaded(self) -> None:
        """Wait until the recorder is ready for orders. Raises the error that prevents it."""
        self._expect("loaded")

    def start(self, target: Target, held_back_pid: int | None, window: Window, output_fd: int | None) -> None:
        """Give the orders and return when the window has begun.  Raises TargetGone, PermissionDenied, PerfdiagError."""
        orders = [f"pid {pid}" for pid in target.pids] + ([f"exec {held_back_pid}"] if held_back_pid else [])
        if group := target.group:
            orders.append(f"group {group.hierarchy} {group.id} {group.parent_id} {group.name}")
        orders += ["host"] * window.host
        orders += ["only"] * window.only + ["stacks"] * window.stacks + [f"duration {window.duration_ns}"]
        orders += ["no-request-names"] * (not window.request_names)
        orders += ["no-apps"] * (not window.apps)
        orders += [f"max-cost {window.max_cost_ppm}"] if window.max_cost_ppm is not None else []
        orders += [f"slo {window.slo_ns}"] if window.slo_ns else []
        orders += [f"slo {limit_ns} {name}" for name, limit_ns in window.slo_names.items()]
        orders += [f"asked {window.asked}"] if window.asked else []
        with suppress(BrokenPipeError, ConnectionResetError):  # why it is gone is said in what it sent before
            if output_fd is not None:
                socket.send_fds(self._control, [b"output\n"], [output_fd])
            self._control.sendall(os.fsencode("".join(f"{order}\n" for order in [*orders, "start"])))
        self._expect("attached")

    def stop(self) -> None:
        """End the window early; safe in a signal handler."""
        with suppress(OSError):
            self._control.send(b"stop\n", socket.MSG_DONTWAIT)

    def wait_done(
        self, duration_ns: int, tick: Callable[[], None] | None, over: Callable[[], bool], wake_fd: int | None = None
    ) -> str:
        """Wait for the end of the window and return its reason as the recorder gives it, or DIED.

        `tick` is called several times a second.  The window is ended early when `over` says so, which is asked
        whenever `wake_fd` is readable or a signal has come.  A recorder that does not end is left after END_TIMEOUT_S.
        """
        end = time.monotonic() + duration_ns / 1e9 + END_TIMEOUT_S if duration_ns else math.inf
        ending = False
        while True:
            line = self._line(time.monotonic() + (TICK_S if tick else QUIET_TICK_S), None if ending else wake_fd)
            if over() and not ending:
                ending, end = True, time.monotonic() + END_TIMEOUT_S
                self.stop()
            if line is None:
                if tick:
                    tick()
                if time.monotonic() > end:
                    return DIED
            elif line.startswith("done"):
                return line.removeprefix("done").strip()
            elif line.startswith("error") or not line:
                return DIED

    def recording(self) -> BinaryIO:
        """Return the recording, from its beginning."""
        os.lseek(self._recording_fd, 0, os.SEEK_SET)
        return os.fdopen(os.dup(self._recording_fd), "rb")

    def messages(self) -> list[str]:
        """Return the recorder's messages, safe to print."""
        content = os.pread(self._messages_fd, 1 << 16, 0)
        return [printable(line, 500) for line in content.decode("utf-8", "replace").splitlines()]

    def cut_off(self) -> str | None:
        """Return why the recorder stopped writing the recording, None if it did not."""
        said = [line.partition(" is cut off: ")[2] for line in self._errors()]
        return next((why for why in reversed(said) if why), None)

    def last_error(self) -> str | None:
        """Return the last error that the recorder printed, or None."""
        return next(reversed(self._errors()), None)

    def _errors(self) -> list[str]:
        return [line.removeprefix("error: ") for line in self.messages() if line.startswith("error: ")]

    def wait_exit(self, timeout_s: float) -> int | None:
        """Return the recorder's exit status (negative: the signal that ended it), None if it still runs."""
        end = time.monotonic() + timeout_s
        while self._status is None:
            try:
                pid, status, used = os.wait4(self._pid, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid:
                self._status, self._cpu_s = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
            elif time.monotonic() > end:
                return None
            else:
                time.sleep(0.005)
        return self._status

    def failure(self, number: int, text: str) -> PerfdiagError:
        """Return the error for a recorder that gave up with an error number."""
        said = self.messages()
        errors = [line.removeprefix("error: ") for line in said if line.startswith("error: ")]
        hints = [line.removeprefix("HINT: ") for line in said if line.startswith("HINT: ")]
        message, hint = (errors or [text or os.strerror(number)])[-1], hints[-1] if hints else None
        if number in (errno.EPERM, errno.EACCES):
            return PermissionDenied(message, (hint if number == errno.EACCES else None) or _permission_hint())
        if number == errno.ESRCH:
            return TargetGone(message, hint or "it may have ended just now; ps -e shows what runs")
        if number == errno.EDOM:
            return UsageError(message, hint)
        if number == errno.ECANCELED:
            hint = "did something send it SIGTERM? start again"
            return PerfdiagError("the recorder was told to end before the window began", hint)
        return PerfdiagError(
            message, hint or HINTS.get(number) or "PERFDIAG_DEBUG=1 shows all messages of the recorder"
        )

    def _expect(self, word: str) -> None:
        """Wait for this answer; raise for another one."""
        line = self._line(time.monotonic() + SLOW_S)
        if line is None and not is_stopped(self._pid):
            limit = f"waiting up to {ATTACH_TIMEOUT_S:.0f} s"
            progress.tell(f"note: probes take longer than {SLOW_S:.0f} s to attach; {limit}")
            line = self._line(time.monotonic() + ATTACH_TIMEOUT_S - SLOW_S)
        if line is None and is_stopped(self._pid):
            raise PerfdiagError(STOPPED, "start again; nothing was recorded")
        if line is None:
            raise PerfdiagError(
                f"the recorder has not answered {word!r} for {ATTACH_TIMEOUT_S:.0f} s",
                "the host may be too busy; PERFDIAG_DEBUG=1 shows the recorder's messages",
            )
        if line == word:
            return
        kind, _, rest = line.partition(" ")
        number, _, text = rest.partition(" ")
        if kind == "error" and number.isdecimal():
            raise self.failure(int(number), printable(text))
        status = self.wait_exit(1.0)
        if status in KILLED:
            raise PerfdiagError("the recorder was killed before the window began", self._killed_hint())
        ended = f"by signal {-status}" if status is not None and status < 0 else f"with status {status}"
        if status in DAMAGED:
            raise PerfdiagError(f"the recorder ended {ended} before the window began", DAMAGED_HINT)
        why = errno.EPERM if status == NOT_PERMITTED else errno.EIO
        raise self.failure(why, printable(line) if line else f"the recorder ended {ended} before the window began")

    def _killed_hint(self) -> str:
        """Return what helps where something killed it: at a limit of CPU time the kernel does."""
        soft, _hard = resource.getrlimit(resource.RLIMIT_CPU)
        if resource.RLIM_INFINITY != soft <= self._cpu_s + CPU_LIMIT_GRAIN_S:
            return f"it used up the {soft} s of CPU time that it may (ulimit -t): raise the limit"
        return KILLED_HINT

    def _line(self, until: float, wake_fd: int | None = None) -> str | None:
        """Return the next line from the recorder, "" at its end, None at `until` (monotonic, s) or by `wake_fd`."""
        control = self._control.fileno()
        waited_for = [control] if wake_fd is None else [control, wake_fd]
        while b"\n" not in self._received:
            if control not in select.select(waited_for, [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            try:
                part = self._control.recv(4096)
            except ConnectionResetError:
                part = b""
            if not part:
                return ""
            self._received += part
        line, self._received = self._received.split(b"\n", 1)
        return line.decode("utf-8", "replace")


@contextmanager
def ended_by_signals(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Let the first SIGINT or SIGTERM call `stop`, and the next one quit; yield the signals that came."""
    came: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)
        stop()

    # who was started with a signal ignored (nohup, a shell's background job) goes on ignoring it
    signals = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in signals}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _permission_hint() -> str:
    """Return the command that would work, or the capability that root lacks."""
    if os.geteuid() != 0:
        program = os.environ.get("PERFDIAG_PROGRAM", "perfdiag")
        return f"sudo {shlex.join([program, *sys.argv[1:]])}"
    return "root lacks CAP_BPF or CAP_PERFMON here: run perfdiag on the host, or in a container that has them"
