"""`python -m perfdiag`, and what the launcher runs: `python -I lib/perfdiag/__main__.py`.

Any Python 3 must be able to read this file, to be told that it is too old.
"""

import os
import sys

OLDEST = (3, 11)
if sys.version_info < OLDEST:
    sys.stderr.write(
        f"error: perfdiag needs Python 3.{OLDEST[1]} or later; {sys.executable} is {sys.version.split()[0]}\n"
        "HINT: install a later one; perfdiag record needs no Python where there is none that fits\n"
    )
    sys.exit(1)

if not __package__:  # run by its path: python -I takes no path from its environment
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

try:
    import contextlib
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is something to report, Ctrl-C just ends
    if __name__ == "__main__":  # or it is "python" in reports on whom it keeps waiting for a CPU
        with contextlib.suppress(OSError), open("/proc/self/comm", "w") as comm:
            comm.write("perfdiag")
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by the launcher while Python starts

    from perfdiag.cli import main
except (AttributeError, ImportError, MemoryError, OSError, SystemError) as error:  # before a cli could say so
    if os.environ.get("PERFDIAG_DEBUG"):
        raise
    hint = "raise the limits of memory and open files (ulimit -a), or install perfdiag again"
    if (getattr(error, "name", None) or "").split(".")[0] in sys.stdlib_module_names:
        hint = "a part of Python is missing: install all of its standard library (apt install python3)"
    elif isinstance(error, (AttributeError, ModuleNotFoundError)):
        hint = "install perfdiag again, with all its files (apt install --reinstall, dnf reinstall)"
    os.write(2, f"error: cannot start: {str(error) or 'memory is exhausted'}\nHINT: {hint}\n".encode())
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
