"""`python -m perfdiag`, and what the launcher runs: `python -I lib/perfdiag/__main__.py`.

Any Python 3 must be able to read this file, to be told that it is too old.
"""

import contextlib
import os
import signal
import sys

OLDEST = (3, 11)
if sys.version_info < OLDEST:
    sys.stderr.write(
        f"error: perfdiag needs Python 3.{OLDEST[1]} or later; {sys.executable} is {sys.version.split()[0]}\n"
        "HINT: install a later one; perfdiag record needs no Python where there is none that fits\n"
    )
    sys.exit(1)

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is something to report, Ctrl-C just ends
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by the launcher while Python starts
if not __package__:  # run by its path: python -I takes no path from its environment
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

try:
    from perfdiag.cli import main
except (ImportError, MemoryError, OSError, SystemError) as error:  # before there is a cli that could say so
    if os.environ.get("PERFDIAG_DEBUG"):
        raise
    os.write(
        2,
        f"error: cannot start: {str(error) or 'memory is exhausted'}\n"
        "HINT: raise the limits of memory and open files (ulimit -a), or install perfdiag again\n".encode(),
    )
    sys.exit(1)

if __name__ == "__main__":
    ended_fd = int(os.environ.pop("PERFDIAG_ENDED_FD", "-1"))
    if ended_fd >= 0:
        os.set_inheritable(ended_fd, False)
    status = main()
    if ended_fd >= 0:
        with contextlib.suppress(OSError):  # who would have said that perfdiag was killed was killed itself
            os.write(ended_fd, b".")
    sys.exit(status)
