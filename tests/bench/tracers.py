"""What is compared: perfdiag, offcputime, perf trace; empty programs are in empty.py.

Each is a context manager that has attached when its block begins and detached when it ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.empty import Missing
from bench.processes import PATIENCE_SECONDS, running
from live.support.recorder import Recorder

OFFCPUTIME = shutil.which("offcputime", path="/usr/sbin:/usr/bin")
PERF = shutil.which("perf")


@contextlib.contextmanager
def perfdiag(
    pids: Sequence[int], *, only: bool = False, max_cost_percent: int | None = None, apps: bool = True
) -> Iterator[Recorder]:
    """The recorder, through its control socket; killed afterwards, its recording thrown away."""
    first = [] if max_cost_percent is None else [f"max-cost {max_cost_percent * 10_000}"]
    first += [] if apps else ["no-apps"]
    with (
        tempfile.TemporaryDirectory() as directory,
        Recorder(pids, Path(directory) / "recording", only=only, first=first) as recorder,
    ):
        yield recorder


@contextlib.contextmanager
def offcputime(pid: int) -> Iterator[subprocess.Popen[bytes]]:
    """libbpf-tools' offcputime -p: blocked time of one process by stack, in the kernel."""
    if not OFFCPUTIME:
        raise Missing("offcputime: apt-get install libbpf-tools")
    # It announces itself on a stream it buffers unless that is a terminal; its first program descriptor tells as well.
    with running([OFFCPUTIME, "-p", pid], stop=signal.SIGINT) as process:
        _wait_for_descriptor(process.pid, "bpf_link", 1)
        yield process


@contextlib.contextmanager
def perf_trace(pids: Sequence[int]) -> Iterator[subprocess.Popen[bytes]]:
    """perf trace -s -p: counts and times of the system calls of some processes, from a buffer read by perf."""
    if not PERF:
        raise Missing("perf: apt-get install linux-perf")
    listed = ",".join(map(str, pids))
    with running([PERF, "trace", "-s", "-p", listed], stop=signal.SIGINT) as process:
        _wait_for_descriptor(process.pid, "[perf_event]", 2 * len(pids))
        yield process


def _wait_for_descriptor(pid: int, kind: str, count: int) -> None:
    """Wait until a tool holds `count` descriptors of a kind and has stopped opening more."""
    end, before = time.monotonic() + PATIENCE_SECONDS, -1
    while time.monotonic() < end:
        have = 0
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                have += kind in os.readlink(path)
        if have >= count and have == before:
            return
        before = have
        select.select([], [], [], 0.1)
    raise Missing(f"pid {pid} attached nothing ({kind}) in {PATIENCE_SECONDS} s")


__all__ = ["PERF", "offcputime", "perf_trace", "perfdiag"]
