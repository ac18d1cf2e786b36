"""A tool that traces until somebody ends it, and what it has said so far."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence

from bench.processes import die_with_parent
from live.support.workload import PATIENCE_SECONDS
from unit.support.closing import Closing
from unit.support.waiting import until

MOST_BYTES = 1 << 24


class Tracing(Closing):
    """A tool that traces by the time it is constructed; a context manager that leaves nothing behind."""

    def __init__(self, name: str, words: Sequence[str], traces: Callable[[str], object]) -> None:
        """`traces` tells it by what the tool has said."""
        # Into files: who reads them cannot be kept waiting by a tool that says nothing more.
        self._output, self._errors = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._errors,
            preexec_fn=die_with_parent(),
        )
        try:
            until(lambda: traces(self.output()) or self.process.poll() is not None, f"{name} traces", PATIENCE_SECONDS)
            assert traces(self.output()), f"{name} ended before it traced: {self.messages()}"
        except BaseException:
            self.close()
            raise

    def output(self) -> str:
        """Return what it has said so far on standard output."""
        return os.pread(self._output.fileno(), MOST_BYTES, 0).decode(errors="replace")

    def messages(self) -> str:
        """Return what it has said so far on standard error."""
        return os.pread(self._errors.fileno(), MOST_BYTES, 0).decode(errors="replace")

    def close(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self._output.close()
        self._errors.close()


__all__ = ["Tracing"]
