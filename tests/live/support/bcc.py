"""Run the programs of tools/ that use bcc, and read the tables that they print."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from perfdiag.documents import script_header

from live.support.bpftrace import BEGUN, TOOLS, mount_tracing
from live.support.tracing import Tracing
from live.support.workload import PATIENCE_SECONDS

PYTHON = "/usr/bin/python3"  # bcc belongs to that of the system


def need_bcc() -> None:
    """Skip where no program can run."""
    if not Path("/usr/lib/python3/dist-packages/bcc").exists():
        pytest.skip("no python3-bpfcc: see packages.txt")


def command(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a program."""
    mount_tracing()
    return [PYTHON, "-I", str(TOOLS / name), *map(str, arguments)]


def refused(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    words = command(name, *arguments)
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


def rows(name: str, text: str) -> list[dict[str, str]]:
    """Return the rows of the table that a program has printed, whole and as its header describes it."""
    _, titles, *lines = text.splitlines()
    columns = titles.split()
    described = [name for name, _ in script_header.parse(TOOLS / name).fields]
    assert [*columns, *(line.partition(":")[0] for line in lines[-1:])] == described
    assert lines[-1] == "lost: 0"
    cells = (line.split(maxsplit=len(columns) - 1) for line in lines[:-1])
    return [dict(zip(columns, [*line, ""], strict=False)) for line in cells]


class Program(Tracing):
    """A program that has attached by the time it is constructed; a context manager that leaves nothing behind."""

    def __init__(self, name: str, *arguments: object, update: bool = False) -> None:
        """With `update`, what it prints becomes the example of its header where a test says so."""
        need_bcc()
        self.name, self.arguments, self.update = name, arguments, update
        super().__init__(name, command(name, *arguments), BEGUN.search)

    def stop(self, *, example: bool = False) -> list[dict[str, str]]:
        """Press Ctrl-C, and return the rows of its table."""
        self.process.send_signal(signal.SIGINT)
        return self.wait(example=example)

    def wait(self, *, example: bool = False) -> list[dict[str, str]]:
        """Wait for its end, and return the rows of its table by the names of their columns."""
        assert self.process.wait(PATIENCE_SECONDS) == 0, self.messages()
        assert not self.messages()
        found = rows(self.name, self.output())
        if example and self.update:
            words = " ".join([self.name, *map(str, self.arguments)])
            script_header.replace_example(TOOLS / self.name, words, self.output().splitlines())
        return found


class RecordingProgram(Program):
    """One that prints no table but a recording."""

    def wait(self, *, example: bool = False) -> list[dict[str, str]]:
        """Wait for its end, and for the last line."""
        assert self.process.wait(PATIENCE_SECONDS) == 0 and not self.messages(), self.messages()
        assert not example and '{"type":"footer"' in self.output()
        return []


__all__ = ["PYTHON", "Program", "RecordingProgram", "command", "need_bcc", "refused", "rows"]
