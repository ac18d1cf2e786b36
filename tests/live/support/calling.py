"""Servers that call others, as programs of their own, who asks them, and what is found of their calls."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model


def go_first() -> None:
    """A call between two that go first is as fast as the network, whatever else the host does."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


@contextlib.contextmanager
def running_server(
    text: str, *arguments: object, first: bool = False, prepare: Callable[[], None] | None = None
) -> Iterator[tuple[int, int]]:
    """Run a server, for which `prepare` is called in its process; its pid and the port at which it listens."""
    words = [sys.executable, "-c", text, *map(str, arguments)]
    with running_command(words, go_first if first else prepare) as started:
        yield started


@contextlib.contextmanager
def running_command(
    words: Sequence[str | Path], prepare: Callable[[], None] | None = None
) -> Iterator[tuple[int, int]]:
    """Run a command that says a number as soon as it is ready; its pid, and that number."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, preexec_fn=prepare) as process:
        try:
            assert process.stdout
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def ask(connection: socket.socket, number: int) -> None:
    for _ in range(number):
        connection.sendall(b"please\n")
        assert connection.recv(100) == b"done"


def fault(model: Model, id: str) -> Finding | None:
    """Return that fault, if it was found.  On a busy host there are others: of CPUs, and of who waits for those."""
    found = [each for each in diagnose(model).findings if each.id == id and each.severity is not Severity.INFO]
    assert len(found) <= 1, found
    return found[0] if found else None


__all__ = ["ask", "fault", "go_first", "running_server"]
