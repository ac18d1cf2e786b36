"""Processes of the benchmark: started so that they end with it, and read from /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

PATIENCE_SECONDS = 60
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: int = signal.SIGKILL) -> Callable[[], None]:
    """For Popen: the child gets signal `number` when the benchmark ends, however it ends."""
    return lambda: _libc.prctl(PR_SET_PDEATHSIG, number)


@contextlib.contextmanager
def running(
    command: Sequence[object],
    *,
    stop: signal.Signals = signal.SIGKILL,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] = subprocess.DEVNULL,
    stderr: int | IO[Any] = subprocess.DEVNULL,
    **options: Any,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command inside the block; afterwards it has ended, by the signal `stop` or else by SIGKILL."""
    options.setdefault("preexec_fn", die_with_parent())
    process = subprocess.Popen([str(part) for part in command], stdin=stdin, stdout=stdout, stderr=stderr, **options)
    try:
        yield process
    finally:
        try:
            if process.poll() is None:
                process.send_signal(stop)
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE_SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


def cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process; exact up to the last switch of each."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            total += int((task / "schedstat").read_text().split()[0])
    return total


def status(pid: int, field: str) -> int:
    """A number of /proc/PID/status: "VmHWM", "voluntary_ctxt_switches", ..."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0])
    raise LookupError(f"no {field} in /proc/{pid}/status")


def reads(pid: int) -> int:
    """How many read system calls a process has made."""
    return int(Path(f"/proc/{pid}/io").read_text().split("syscr: ")[1].split()[0])


def children(pid: int) -> list[int]:
    """Direct children of a single-threaded process."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def idle_ns(cpu: int) -> int:
    """Idle time of one CPU, to the tick."""
    for line in Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words[0] == f"cpu{cpu}":
            return (int(words[4]) + int(words[5])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    raise LookupError(f"no cpu{cpu} in /proc/stat")


__all__ = ["PATIENCE_SECONDS", "children", "cpu_ns", "die_with_parent", "idle_ns", "reads", "running", "status"]
