"""A command held back just before its exec, so that it can be recorded from its first instruction."""

import os
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from perfdiag.common.errors import PerfdiagError, TargetGone, UsageError
from perfdiag.common.text import printable

OWN_VARIABLES = (
    "PERFDIAG_PROGRAM",
    "PERFDIAG_CONTROL_FD",
    "PERFDIAG_RECORDING_FD",
    "PERFDIAG_MESSAGES_FD",
    "PERFDIAG_RECORDER_PID",
    "PERFDIAG_NICENESS",
    "PERFDIAG_OOM_SCORE",
    "PERFDIAG_ENDED_FD",
)
KEPT = "PERFDIAG_KEPT_"  # of variables that Python or the linker obey, which the launcher keeps from our own


class HeldBack:
    """A child process that waits to become `arguments`; if perfdiag ends before release(), it ends too."""

    def __init__(self, arguments: Sequence[str], stdout_fd: int) -> None:
        """Fork; the command will write its standard output to `stdout_fd`. Raises UsageError if there is no such
        command."""
        self.name = printable(arguments[0])
        program = shutil.which(arguments[0])
        if program is None:
            raise _no_command(arguments[0])
        gate, self._gate = os.pipe()
        self._failure, failure = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._gate)
            _become(program, arguments, stdout_fd, gate, failure)
        os.close(gate)
        os.close(failure)
        os.read(self._failure, 1)  # it has its name
        self.pidfd = os.pidfd_open(self.pid)  # readable when it has ended
        self._status: int | None = None

    def release(self) -> None:
        """Let it run.  Raises PerfdiagError if the kernel refuses to run it, TargetGone if it has ended already."""
        try:
            os.write(self._gate, b"x")
        except BrokenPipeError as error:
            raise TargetGone(f"{self.name} ended before it was measured", "was it killed? start it again") from error
        os.close(self._gate)
        if number := os.read(self._failure, 4):
            raise PerfdiagError(f"cannot run {self.name}: {os.strerror(int.from_bytes(number, 'little'))}")
        os.close(self._failure)

    def status(self, timeout_s: float | None) -> int | None:
        """Return its exit status as a shell would (128 + signal), None if it still runs after `timeout_s`."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while self._status is None:
            pid, status = os.waitpid(self.pid, 0 if end is None else os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self._status = code if code >= 0 else 128 - code
            elif end is not None and time.monotonic() >= end:
                break
            else:
                time.sleep(0.01)
        return self._status


def _no_command(name: str) -> UsageError:
    """Return why nothing can be run by that name."""
    if not name:
        return UsageError("the COMMAND is empty", "is a variable of a script not set?")
    if "/" in name and os.path.isdir(name):
        return UsageError(f"{printable(name)} is a directory", "give the program in it")
    if "/" in name and os.path.exists(name):
        return UsageError(f"{printable(name)} is not executable", "chmod +x, or name its interpreter before it")
    return UsageError(f"{printable(name)}: no such command", "give its full path: sudo has its own search path")


def _become(program: str, arguments: Sequence[str], stdout_fd: int, gate: int, failure: int) -> NoReturn:
    """In the child: wait, then exec.  What Python changed about signals is changed back."""
    try:
        with open("/proc/self/comm", "wb") as comm:  # a recording's header names it before it is what it will be
            comm.write(os.fsencode(os.path.basename(program)))
        os.write(failure, b".")
        if os.read(gate, 1) != b"x":
            os._exit(1)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.dup2(stdout_fd, 1)
        if niceness := os.environ.get("PERFDIAG_NICENESS"):  # the launcher raised its own
            os.setpriority(os.PRIO_PROCESS, 0, int(niceness))
        if score := os.environ.get("PERFDIAG_OOM_SCORE"):  # and offered all of perfdiag to the OOM killer
            Path("/proc/self/oom_score_adj").write_text(score)
        environment = {key.removeprefix(KEPT): os.environ[key] for key in os.environ if key not in OWN_VARIABLES}
        os.execve(program, list(arguments), environment)
    except OSError as error:
        os.write(failure, (error.errno or 1).to_bytes(4, "little"))
    finally:
        os._exit(127)
