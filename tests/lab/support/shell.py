"""`make lab-shell`: boots a kernel and gives its console to the terminal (python -m lab.support.shell 6.1)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import BinaryIO

from lab.support.guest import command_line, prepare_folder

END_OF_INPUT = b"\x04"  # as the guest's terminal has it: a shell that reads it ends
AGAIN_SECONDS = 1.0  # it is lost on a guest that still boots, and on a command that does not read
PATIENCE_SECONDS = 300.0  # with what the guest does after that


def main(kernel: str) -> int:
    """Run the guest until its shell ends, or there is nobody any more who could say something to it."""
    folder = prepare_folder(f"{kernel}-shell")
    words = command_line(kernel, folder, "lab.shell")
    words += ["-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    environment = {**os.environ, "TMPDIR": str(folder)}
    # What is typed the emulator reads itself, and it notices when the terminal is gone; the end of a file it does not.
    return run(words, None if sys.stdin.isatty() else sys.stdin.buffer, environment)


def run(
    words: Sequence[str],
    source: BinaryIO | None,
    environment: dict[str, str] | None = None,
    again: float = AGAIN_SECONDS,
    patience: float = PATIENCE_SECONDS,
) -> int:
    """Run a machine that gets `source` as its input, None for the terminal; return its status.

    At the end of the input its shell is told to end; a machine that does not within `patience` seconds is ended, and so
    it is when this process is.
    """
    stdin = None if source is None else subprocess.PIPE
    machine = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], stdin=stdin, env=environment)
    over = threading.Event()
    try:
        if source is not None:
            threading.Thread(target=_feed, args=(source, machine, over, again), daemon=True).start()
            while machine.poll() is None and not over.wait(again):
                pass
        return machine.wait(None if source is None else patience)
    except subprocess.TimeoutExpired:
        print(f"the guest did not end {patience:g} s after its input did: it is ended", file=sys.stderr)
        return 1
    finally:
        machine.kill()
        machine.wait()


def _feed(source: BinaryIO, machine: subprocess.Popen[bytes], over: threading.Event, again: float) -> None:
    """Pass on what comes, and then that nothing comes any more, again and again."""
    assert machine.stdin
    with contextlib.suppress(OSError):  # the machine has ended
        while data := os.read(source.fileno(), 4096):
            machine.stdin.write(data)
            machine.stdin.flush()
        over.set()
        while machine.poll() is None:
            machine.stdin.write(END_OF_INPUT)
            machine.stdin.flush()
            threading.Event().wait(again)
    over.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

__all__ = ["main", "run"]
