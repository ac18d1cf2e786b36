"""Run perfdiag-recorder the way the Python side does: through its control socket, in step with the workload."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from live.support.recording import Recording
from live.support.workload import PATIENCE_SECONDS, ROOT
from unit.support.closing import Closing

# Another build than the one of this tree can be tested: an installed one, an older one.
RECORDER = Path(os.environ.get("PERFDIAG_RECORDER", ROOT / "build" / "bin" / "perfdiag-recorder"))


class Recorder(Closing):
    """A recorder that has attached by the time it is constructed; a context manager that kills what is left."""

    def __init__(
        self,
        pids: Sequence[int],
        output: Path,
        *,
        only: bool = False,
        stacks: bool = False,
        duration_ns: int = 0,
        slo_ns: int = 0,
        slo_names: Mapping[str, int] | None = None,
        interval_ms: int = 0,
        first: Sequence[str] = (),
        file: int | None = None,
        engine: str = "",
    ) -> None:
        self.output = output
        self.messages = output.with_suffix(".stderr")
        mine, theirs = socket.socketpair()
        mine.settimeout(PATIENCE_SECONDS)
        options = ["--interval", str(interval_ms)] if interval_ms else []
        options += ["--engine", engine, "--scripts", str(ROOT)] if engine else []
        with output.open("wb") as stdout, self.messages.open("wb") as stderr, theirs:
            self.process = subprocess.Popen(
                [RECORDER, "--control", str(theirs.fileno()), *options],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=[theirs.fileno()],
            )
        self.control = mine
        self._answers = mine.makefile("r", encoding="utf-8", errors="replace")
        try:
            self.expect("loaded")
            if file is not None:
                socket.send_fds(mine, [b"output\n"], [file])
            wanted = [*first, *(f"pid {pid}" for pid in pids)]
            wanted += ["only"] * only + ["stacks"] * stacks
            wanted += [f"duration {duration_ns}", f"slo {slo_ns}" if slo_ns else ""]
            wanted += [*(f"slo {limit_ns} {name}" for name, limit_ns in (slo_names or {}).items()), "start"]
            self.tell(*filter(None, wanted))
            self.expect("attached")
        except BaseException:
            self.close()
            raise

    def tell(self, *lines: str) -> None:
        """Send lines of the control protocol."""
        self.control.sendall("".join(f"{line}\n" for line in lines).encode())

    def expect(self, word: str) -> str:
        """Wait for a line that begins with `word` and return the rest of it."""
        line = self._answers.readline().rstrip("\n")
        assert line.split(" ")[0] == word, f"expected {word!r}, got {line!r}; stderr: {self.said()}"
        return line.partition(" ")[2]

    def said(self) -> str:
        """Return what it told people."""
        return self.messages.read_text(errors="replace")

    def stop(self) -> Recording:
        """Tell it to stop, and return its recording."""
        with contextlib.suppress(BrokenPipeError):
            self.tell("stop")
        return self.wait()

    def interrupt(self, number: signal.Signals) -> Recording:
        """End it with a signal, and return its recording."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self, reason: str | None = None) -> Recording:
        """Wait until it has ended by itself with status 0, and return its recording."""
        why = self.expect("done")
        assert self.process.wait(PATIENCE_SECONDS) == 0, self.said()
        recording = Recording(self.output)
        assert recording.footer.reason == why
        assert reason in (None, why), f"it ended because of {why!r}: {self.said()}"
        return recording

    def resident_bytes(self) -> int:
        """Return VmRSS of the recorder now."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS: the recorder has ended")

    def close(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)
        self._answers.close()
        self.control.close()


def run_recorder(
    *arguments: object, timeout: float = PATIENCE_SECONDS, **options: object
) -> subprocess.CompletedProcess[bytes]:
    """Run the recorder from its command line to its end and return what it wrote."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [RECORDER, *map(str, arguments)], capture_output=True, timeout=timeout, check=False, **options
    )


__all__ = ["RECORDER", "Recorder", "run_recorder"]
