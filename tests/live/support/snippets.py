"""Programs of a few lines of Python, recorded while they do what they were told to."""

from __future__ import annotations

import subprocess
import sys

from live.support.fixtures import Attach, Cleanup
from live.support.recording import Recording


def recorded_snippet(
    attach: Attach, cleanup: Cleanup, code: str, *arguments: object, **options: object
) -> tuple[Recording, int]:
    """Start a snippet that prints a line when it is ready and begins when it has read one; record it to its end.

    `options` are the recorder's.  Return the recording and the pid.
    """
    words = [sys.executable, "-c", code, *map(str, arguments)]
    process = cleanup.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    cleanup.callback(process.kill)
    assert process.stdin and process.stdout and process.stdout.readline()
    recorder = attach(process.pid, only=True, **options)
    process.stdin.write(b"go\n")
    process.stdin.flush()
    return recorder.wait(), process.pid


__all__ = ["recorded_snippet"]
