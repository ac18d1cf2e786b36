"""A host that is dying: a remote file system whose server stops answering, a process whose memory lock is stuck."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from live.support.host import need_file_system, unmount
from live.support.workload import PATIENCE_SECONDS, ROOT, WORKLOADS

PROGRAM = ROOT / "build/bin/perfdiag"
REPORT_S = 3.0  # what the report of a host in trouble may take, beyond its window, while nobody else wants its CPUs
START_S = 0.3  # what an explanation takes then
HANG_S = 0.7  # what takes longer than this, and is one read of a small file, hangs


class Remote:
    """A mounted directory with `program` (an executable) and `data`, whose server can die; end() is the only remedy."""

    def __init__(self, directory: Path, program: str) -> None:
        need_file_system("fuse")
        self.directory = directory
        directory.mkdir()
        self._server = subprocess.Popen(
            [WORKLOADS / "dead_server", "--wait", "--program", WORKLOADS / program, "--mount", directory],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._expect("ready")

    def _expect(self, word: str) -> None:
        assert self._server.stdout
        for line in self._server.stdout:
            if word in json.loads(line):
                return
        raise AssertionError(f"the server ended with status {self._server.wait(PATIENCE_SECONDS)} before it was {word}")

    def await_written(self) -> None:
        """Wait until somebody has written to the file `data`."""
        self._expect("written")

    def die(self) -> None:
        """Answer nothing from now on."""
        self._server.send_signal(signal.SIGUSR1)
        self._expect("dead")

    def end(self) -> None:
        """End the server: the kernel fails whatever still waits for it.  Does nothing the second time."""
        if self._server.poll() is None:
            self._server.terminate()
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait(PATIENCE_SECONDS)
        unmount(self.directory)

    def unanswered(self) -> int:
        """End the server and return how many requests it left without an answer."""
        assert self._server.stdout
        self.end()
        return int(json.loads(self._server.stdout.read().splitlines()[-1])["unanswered"])


@dataclass(frozen=True)
class Ran:
    """One run of perfdiag."""

    status: int
    stdout: str
    stderr: str
    took_s: float
    session: int

    def check_honest(self) -> None:
        """No run, however it ends, shows its user what is wrong inside."""
        assert "Traceback" not in self.stderr and "bug in perfdiag" not in self.stderr, self.stderr


def run_perfdiag(
    *arguments: object, seconds: float, command: str = "latency", left_behind: int = 0, **options: object
) -> Ran:
    """Run perfdiag for a window of so many seconds, and print what it took.

    Nothing of it stays, but for `left_behind` helpers that wait in the kernel where no signal ends them.
    """
    words = [str(word) for word in (PROGRAM, command, "--duration", seconds, *arguments)]
    begin = time.monotonic()
    process = subprocess.Popen(  # type: ignore[call-overload]
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
    )
    try:
        stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    ran = Ran(process.returncode, stdout, stderr, time.monotonic() - begin, process.pid)
    print(f"perfdiag {' '.join(words[2:])}: {ran.took_s:.2f} s, status {ran.status}, load {os.getloadavg()[0]:.1f}")
    print(stderr)
    assert_session_ends(process.pid, left_behind)
    ran.check_honest()
    return ran


def assert_in_time(took_s: float, waited_s: float) -> None:
    """Nothing was waited for but the window, or a deadline, and what a report takes on a host as busy as this one."""
    if took_s < waited_s + REPORT_S:
        return
    begin = time.monotonic()
    subprocess.run([PROGRAM, "explain", "CPU-BOUND"], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    wanted = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    slowness = max(1.0, wanted, (time.monotonic() - begin) / START_S)
    print(f"{took_s:.2f} s of {waited_s:g} s and {REPORT_S:g} s times {slowness:.1f}")
    assert took_s < waited_s + REPORT_S * slowness


def assert_session_ends(session: int, allowed: int = 0) -> None:
    """Whoever started in the session has gone soon, but for `allowed` who cannot even be killed."""
    end = time.monotonic() + 10
    while len(left := list(_members(session))) > allowed:
        assert time.monotonic() < end, f"still there: {left}"
        time.sleep(0.02)


def _members(session: int) -> Iterator[str]:
    """Yield the living processes of a session; status, because stat of a process that is stuck would hang here too."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{entry}/status").read_text()
            fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
            if int(fields["NSsid"].split()[0]) == session and fields["State"][0] not in "ZX":
                yield f"{fields['Name']} (pid {entry}), {fields['State']}"


def hangs(path: str) -> bool:
    """Whether reading a file does not end: tried by a process that is ended then."""
    reader = subprocess.Popen(["cat", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        reader.wait(HANG_S)
        return False
    except subprocess.TimeoutExpired:
        return True
    finally:
        reader.kill()
        reader.wait(PATIENCE_SECONDS)


def wait_for_stuck_child(pid: int) -> int:
    """Return the child of a process (workload stuck_memory) that is stuck in its exec, as soon as there is one."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                if hangs(f"/proc/{child}/io"):
                    return int(child)
        time.sleep(0.02)
    raise AssertionError(f"nothing of {pid} is stuck: nothing could be tested")


__all__ = [
    "PROGRAM",
    "Ran",
    "Remote",
    "assert_in_time",
    "assert_session_ends",
    "hangs",
    "run_perfdiag",
    "wait_for_stuck_child",
]
