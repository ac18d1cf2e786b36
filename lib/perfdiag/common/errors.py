"""The errors perfdiag raises; `cli.main` is the only place that prints them and chooses the exit status."""

import errno

_ROOM = "make room there, or send the output to a file system that has some: /dev/shm is in memory"
_FILES = "raise the limit of open files: ulimit -n 1024"
INSTALL_AGAIN = "install perfdiag again, with all its files (apt install --reinstall, dnf reinstall)"
MEMORY_HINT = "raise the limit (ulimit -v, ulimit -d), or report the recording on another machine"

# What to do where the operating system lacks something, by error number.
HINTS = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "raise the limit of file sizes: ulimit -f unlimited",
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOMEM: MEMORY_HINT,
    errno.EAGAIN: "raise the limit of processes: ulimit -u unlimited, or pids.max of the control group",
}


class PerfdiagError(Exception):
    """An error the user can act on: one line that says what failed, a hint that says what to do."""

    exit_status = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(PerfdiagError):
    """The command line cannot be understood, or contradicts itself."""

    exit_status = 2


class PermissionDenied(PerfdiagError):
    """The host refuses it; the hint is the command that would work."""

    exit_status = 3


class TargetGone(PerfdiagError):
    """The target ended before anything was measured."""

    exit_status = 4


class RecordingError(PerfdiagError):
    """A recording cannot be read."""
