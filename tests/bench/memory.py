"""Memory of the recorder and of the kernel side, by number of threads followed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import tracers
from bench.measure import Context
from bench.processes import PATIENCE_SECONDS, running, status
from bench.table import Row
from live.support.recorder import Recorder
from live.support.workload import WORKLOADS

SECTION = "5. Memory of the recorder, by threads followed"
MIB = 1 << 20
TASK_STORAGE = 29  # BPF_MAP_TYPE_TASK_STORAGE


@contextlib.contextmanager
def threads(count: int, period_ms: int = 1000) -> Iterator[int]:
    """A process with so many threads that sleep and wake; yields its pid."""
    command = [WORKLOADS / "many_threads", "--threads", count - 1, "--period-ms", period_ms, "--duration-ms", 3_600_000]
    with running(command) as process:
        end = time.monotonic() + PATIENCE_SECONDS
        while status(process.pid, "Threads") < count:
            if time.monotonic() > end:
                raise RuntimeError(f"only {status(process.pid, 'Threads')} of {count} threads could be made")
            time.sleep(0.05)
        time.sleep(0.5)
        yield process.pid


def slab_bytes() -> int:
    """The kernel's small objects, task storage among them."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Slab:"):
            return int(line.split()[1]) * 1024
    raise LookupError("no Slab in /proc/meminfo")


@dataclass(frozen=True)
class Memory:
    """Bytes of one recording: resident at most (mostly while it loads), at its end, kernel objects."""

    peak: int
    last: int
    kernel: int


def of_recording(pid: int, seconds: float) -> Memory:
    """Record for so long, and watch the recorder until it has written the last rows of all threads."""
    before = slab_bytes()
    with tracers.perfdiag([pid]) as recorder:
        kernel = slab_bytes() - before
        time.sleep(seconds)
        peak = last = 0
        recorder.tell("stop")
        while recorder.process.poll() is None:
            with contextlib.suppress(LookupError, FileNotFoundError, ProcessLookupError):
                last = max(last, status(recorder.process.pid, "VmRSS"))
                peak = status(recorder.process.pid, "VmHWM")
            time.sleep(0.002)
    return Memory(peak * 1024, last * 1024, kernel)


def maps_of(recorder: Recorder) -> Iterator[dict[str, str]]:
    """What the kernel tells of each map of the recorder."""
    for path in Path(f"/proc/{recorder.process.pid}/fdinfo").iterdir():
        values = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
        if "map_type" in values:
            yield values


def record_bytes() -> int:
    """Size of what a thread has in task storage, as the kernel has it."""
    with tracers.perfdiag([os.getpid()], only=True) as recorder:
        return sum(int(each["value_size"]) for each in maps_of(recorder) if int(each["map_type"]) == TASK_STORAGE)


# Opens so many pairs of connected sockets; once it is told to, each end has asked and answered something.
SOCKETS = """
import resource, socket, sys
pairs = int(sys.argv[1])
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
listening = socket.create_server(("127.0.0.1", 0))
def pair():
    connected = socket.create_connection(listening.getsockname())
    return connected, listening.accept()[0]
both = [pair() for _ in range(pairs)]
print("open", flush=True)
sys.stdin.readline()
for connected, accepted in both:
    connected.send(b"?" * 64), accepted.recv(64), accepted.send(b"!"), connected.recv(1)
print("used", flush=True)
sys.stdin.readline()
"""


def socket_bytes(pairs: int) -> float:
    """What the maps grow by for each of many sockets that are followed (allocators may round it up)."""
    words = [sys.executable, "-Ic", SOCKETS, pairs]
    with running(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin and process.stdout
        if process.stdout.readline() != b"open\n":
            raise RuntimeError(f"{2 * pairs:,} sockets could not be opened")
        with tracers.perfdiag([process.pid]) as recorder:
            before = sum(int(each["memlock"]) for each in maps_of(recorder))
            process.stdin.write(b"\n")
            process.stdout.readline()
            return (sum(int(each["memlock"]) for each in maps_of(recorder)) - before) / (2 * pairs)


def rows(context: Context) -> Iterator[Row]:
    """Measure at three sizes; the growth per thread is between the smallest and the largest."""
    found: dict[int, Memory] = {}
    for count in (10, 1000, 5000):
        with threads(count) as pid:
            found[count] = of_recording(pid, context.choose(1, 11))
        yield Row(
            SECTION,
            f"recorder, {count:,} threads: resident at most",
            found[count].peak / MIB,
            "MiB",
            limit=16.0 if count == 1000 else None,
            note=f"{found[count].last / MIB:.1f} MiB at its end",
        )
    yield Row(
        SECTION,
        "recorder, growth per thread",
        (found[5000].last - found[10].last) / 4990,
        "bytes",
        note="of its memory at the end, when it has met every thread",
    )
    yield Row(SECTION, "kernel, records of a thread", record_bytes(), "bytes")
    yield Row(
        SECTION,
        "kernel, growth of its objects per thread (5,000)",
        found[5000].kernel / 5000,
        "bytes",
        note="of the whole host: others can make it larger or smaller",
    )
    pairs = 9001
    yield Row(
        SECTION,
        "kernel, growth of its maps for 100,000 sockets",
        socket_bytes(pairs) * 100_000 / MIB,
        "MiB",
        note=f"from {2 * pairs:,}, as the kernel accounts maps",
    )


__all__ = ["rows", "threads"]
