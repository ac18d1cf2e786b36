"""What is compared: empty programs on perfdiag's hooks, perfdiag, offcputime, perf trace.

Each is a context manager that has attached when its block begins and detached when it ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from bench.processes import PATIENCE_SECONDS, running
from live.support.recorder import RECORDER, Recorder

OFFCPUTIME = shutil.which("offcputime", path="/usr/sbin:/usr/bin")
PERF = shutil.which("perf")
BPF_STATS_RUN_TIME = 0


class Missing(Exception):
    """A tool to compare with is not there; the text says what to install."""


@cache
def hooks() -> list[str]:
    """The tracepoints this recorder attaches to on this host without further options."""
    with running([RECORDER, "--pid", os.getpid()], stdout=subprocess.PIPE, stop=signal.SIGTERM) as process:
        assert process.stdout
        header = json.loads(process.stdout.readline())
        process.stdout.read(1)  # it is past its header: what it still has to say may go
    attached = [probe["hook"] for probe in header["probes"] if probe["attached"]]
    return [hook.removeprefix("tp_btf/") for hook in attached if hook.startswith("tp_btf/")]


NOTHING = "return 0;"
READ_CLOCK = "clock = bpf_ktime_get_ns(); return 0;"


class Empty:
    """Programs on perfdiag's hooks that do nothing, or next to nothing; loaded once, attached in `attached()`."""

    def __init__(self, directory: Path, body: str = NOTHING) -> None:
        self._body = body
        self._lib = ctypes.CDLL("libbpf.so.1")
        for name in ("bpf_object__open_file", "bpf_object__next_program", "bpf_program__attach", "bpf_program__name"):
            getattr(self._lib, name).restype = ctypes.c_char_p if name.endswith("name") else ctypes.c_void_p
        self._object = ctypes.c_void_p(self._lib.bpf_object__open_file(str(self._compile(directory)).encode(), None))
        if not self._object or self._lib.bpf_object__load(self._object):
            raise Missing("the empty programs cannot be loaded")

    def _compile(self, directory: Path) -> Path:
        """Write and compile one program a hook: the list is the recorder's own, so the two cannot drift apart."""
        source, target = directory / "empty.bpf.c", directory / "empty.bpf.o"
        programs = [f'SEC("tp_btf/{hook}") int empty_{hook}(void *context) {{ {self._body} }}' for hook in hooks()]
        head = ["#include <linux/bpf.h>", "#include <bpf/bpf_helpers.h>", 'char LICENSE[] SEC("license") = "GPL";']
        source.write_text("\n".join([*head, "__u64 clock;", *programs]) + "\n")
        include = f"-I/usr/include/{platform.machine()}-linux-gnu"
        clang = ["clang-14", "-g", "-O2", "-target", "bpf", "-mcpu=v3", include]
        subprocess.run([*clang, "-c", str(source), "-o", str(target)], check=True)
        return target

    def _programs(self) -> Iterator[ctypes.c_void_p]:
        program = self._lib.bpf_object__next_program(self._object, None)
        while program:
            yield ctypes.c_void_p(program)
            program = self._lib.bpf_object__next_program(self._object, ctypes.c_void_p(program))

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        """All programs are attached inside the block."""
        links = [self._lib.bpf_program__attach(program) for program in self._programs()]
        try:
            if not all(links):
                raise Missing("an empty program cannot be attached")
            yield
        finally:
            for link in filter(None, links):
                self._lib.bpf_link__destroy(ctypes.c_void_p(link))

    def cost_ns(self, seconds: float) -> dict[str, float]:
        """What the kernel's own statistics read for one run of an empty program, by hook: their floor."""
        statistics = self._lib.bpf_enable_stats(BPF_STATS_RUN_TIME)
        with self.attached():
            time.sleep(seconds)
            found = {}
            for program in self._programs():
                path = Path(f"/proc/self/fdinfo/{self._lib.bpf_program__fd(program)}")
                values = dict(line.split(":", 1) for line in path.read_text().splitlines())
                name = self._lib.bpf_program__name(program).decode().removeprefix("empty_")
                if int(values["run_cnt"]):
                    found[name] = int(values["run_time_ns"]) / int(values["run_cnt"])
        os.close(statistics)
        return found


@contextlib.contextmanager
def perfdiag(pids: Sequence[int], *, only: bool = False) -> Iterator[Recorder]:
    """The recorder, through its control socket; killed afterwards, its recording thrown away."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Recorder(pids, Path(directory) / "recording", only=only) as recorder,
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


__all__ = ["Empty", "Missing", "hooks", "offcputime", "perf_trace", "perfdiag"]
