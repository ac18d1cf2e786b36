"""Programs that do nothing, or next to nothing, on the hooks of perfdiag's own: the floor of what tracing costs."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perfdiag.recording import schema

from bench.processes import PATIENCE_SECONDS, running
from live.support.recorder import RECORDER
from live.support.workload import ROOT

ATTACH = ROOT / "build" / "bench" / "attach"
TRACEPOINT = "tp_btf/"

NOTHING = "return 0;"
READ_CLOCK = "clock = bpf_ktime_get_ns(); return 0;"


class Missing(Exception):
    """What is to be compared with is not there; the text says what to do."""


@dataclass(frozen=True)
class Cost:
    """What the kernel's own statistics read for one program; reading them is part of it."""

    runs: int
    ns: int

    @property
    def each_ns(self) -> float:
        """What it reads for one run."""
        return self.ns / self.runs


def hooks_of(probes: Iterable[schema.Probe]) -> dict[str, str]:
    """Return the tracepoints of the programs that have attached, by program."""
    return {
        probe.name: probe.hook.removeprefix(TRACEPOINT)
        for probe in probes
        if probe.attached and probe.hook.startswith(TRACEPOINT)
    }


@cache
def hooks() -> dict[str, str]:
    """Those of this recorder on this host without further options."""
    with running([RECORDER, "--pid", os.getpid()], stdout=subprocess.PIPE, stop=signal.SIGTERM) as process:
        assert process.stdout
        header = json.loads(process.stdout.readline())
        process.stdout.read(1)  # it is past its header: what it still has to say may go
    return hooks_of(schema.Probe(**probe) for probe in header["probes"])


def compiled(target: Path, hooks: Mapping[str, str], body: str = NOTHING) -> Path:
    """Compile a twin of each program: the list is the recorder's own, so the two cannot drift apart."""
    source = target.with_suffix(".c")
    programs = [f'SEC("{TRACEPOINT}{hook}") int {name}(void *context) {{ {body} }}' for name, hook in hooks.items()]
    head = ["#include <linux/bpf.h>", "#include <bpf/bpf_helpers.h>", 'char LICENSE[] SEC("license") = "GPL";']
    source.write_text("\n".join([*head, "__u64 clock;", *programs]) + "\n")
    include = f"-I/usr/include/{platform.machine()}-linux-gnu"
    clang = ["clang-14", "-g", "-O2", "-target", "bpf", "-mcpu=v3", include]
    subprocess.run([*clang, "-c", str(source), "-o", str(target)], check=True)
    return target


def costs_of(said: str) -> dict[str, Cost]:
    """Return what `attach OBJECT statistics` says at its end, by program; one that did not run is not there."""
    words = [line.split() for line in said.splitlines() if line != "attached"]
    return {name: Cost(int(runs), int(ns)) for name, runs, ns in words if int(runs)}


class Empty:
    """Such programs on the hooks of this host."""

    def __init__(self, directory: Path, name: str = "empty", body: str = NOTHING) -> None:
        self._object = compiled(directory / f"{name}.bpf.o", hooks(), body)

    @contextlib.contextmanager
    def attached(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """All programs are attached inside the block."""
        command = [ATTACH, self._object, *options]
        with running(command, stdout=subprocess.PIPE, stop=signal.SIGTERM) as process:
            assert process.stdout
            if process.stdout.readline() != b"attached\n":
                raise Missing("the empty programs cannot be attached")
            yield process

    def costs(self, seconds: float) -> dict[str, Cost]:
        """What the kernel's own statistics read for the empty programs, by program: their floor."""
        with self.attached("statistics") as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        return costs_of(said.decode())


__all__ = ["ATTACH", "NOTHING", "READ_CLOCK", "Cost", "Empty", "Missing", "compiled", "costs_of", "hooks", "hooks_of"]
