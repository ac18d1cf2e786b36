"""Opening files that may have no data: a pipe, a terminal, trace_pipe; and standard input, which may be closed."""

import fcntl
import os
import select
import sys
from collections.abc import Callable
from typing import IO

from perfdiag.common.errors import PerfdiagError


def opened(path: str, patience_s: float, silent: Callable[[], None]) -> IO[bytes]:
    """Open a file to read it; call `silent` if it has no data for so long. An exception from `silent` ends it, else
    reading waits on. Raises OSError, too."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not select.select([fd], [], [], patience_s)[0]:
            silent()
            select.select([fd], [], [])  # to read from a pipe that nobody has opened yet is to be at its end
        os.set_blocking(fd, True)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def standard_input(hint: str) -> IO[bytes]:
    """Return standard input. Raises PerfdiagError with this hint if it is closed, or a directory."""
    # Write-only is what the launcher puts in its place.
    if sys.stdin is None or fcntl.fcntl(sys.stdin.fileno(), fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
        raise PerfdiagError("cannot read standard input: it is closed, or a directory", hint)
    return sys.stdin.buffer
