"""`make lab-shell`: boots a kernel and gives its console to the terminal (python -m lab.support.shell 6.1)."""

from __future__ import annotations

import os
import subprocess
import sys

from lab.support.guest import command_line, prepare_folder


def main(kernel: str) -> int:
    """Run the guest until its shell ends."""
    folder = prepare_folder(f"{kernel}-shell")
    words = command_line(kernel, folder, "lab.shell")
    words += ["-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"]
    return subprocess.call(words, env={**os.environ, "TMPDIR": str(folder)})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

__all__ = ["main"]
