"""Start the programs of tests/workloads, let them go, and take their truth."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from unit.support.waiting import until

ROOT = Path(__file__).resolve().parents[3]
WORKLOADS = ROOT / "build" / "workloads"

PATIENCE_SECONDS = 60


class Workload:
    """A workload that is prepared and waits for its start; a context manager that leaves nothing behind.

    `pid` is its own, as seen from here, also when `wrapper` (say unshare) runs it in a pid namespace.
    """

    def __init__(
        self,
        name: str,
        *arguments: object,
        wrapper: Sequence[str] = (),
        prepare: Callable[[], None] | None = None,
        directory: Path | None = None,
    ) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [*wrapper, *self.command(name), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=prepare,
            cwd=directory,
        )
        self.ready = self.line()
        self.pid = int(self.ready["pid"]) if not wrapper else self._descendant(self.process.pid)

    def command(self, name: str) -> list[str]:
        """Return what runs it, ahead of its arguments."""
        return [str(WORKLOADS / name), "--wait"]

    def line(self) -> dict[str, Any]:
        """Wait for the next line that it says of itself."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"workload {self.name} ended early with status {self.process.wait(PATIENCE_SECONDS)}"
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    def _descendant(self, pid: int) -> int:
        """Return the process below `pid` that runs the workload, told by its executable."""
        if os.path.realpath(f"/proc/{pid}/exe") == str(WORKLOADS / self.name):
            return pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(LookupError):
                return self._descendant(int(child))
        raise LookupError(f"no {self.name} below {pid}")

    def status(self, field: str) -> str:
        """Return what the kernel says of it now: the first word of a field of /proc/PID/status."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f"{field}:"))

    def states(self) -> dict[str, str]:
        """Return the state of each of its threads now, by name."""
        stats = [stat.read_text() for stat in Path(f"/proc/{self.pid}/task").glob("*/stat")]
        return {stat[stat.index("(") + 1 : stat.rindex(")")]: stat[stat.rindex(")") + 2] for stat in stats}

    def await_threads(self, number: int) -> None:
        """Wait until it has made so many threads, the first one counted."""
        until(lambda: int(self.status("Threads")) >= number, f"{self.name} has {number} threads")

    def start(self) -> None:
        """Let it go."""
        assert self.process.stdin
        self.process.stdin.write(b"g")
        self.process.stdin.flush()

    def truth(self) -> dict[str, int]:
        """Wait for its end and return what it says of itself."""
        assert self.process.stdin
        self.process.stdin.close()
        found = self.line()
        self.end()
        return found

    def end(self) -> None:
        """Wait until it has ended, as it does when its input ends."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_SECONDS) == 0

    def run(self) -> dict[str, int]:
        """Let it go and return its truth."""
        self.start()
        return self.truth()

    def __enter__(self) -> Workload:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


__all__ = ["PATIENCE_SECONDS", "ROOT", "WORKLOADS", "Workload"]
