"""Servers that call others, as programs of their own, who asks them, and what is found of their calls."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model

from live.support.fixtures import Attach
from live.support.model import model_of

# Asks the same again and again, on one connection.
CLIENT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print(0, flush=True)
while True:
    connection.sendall(sys.argv[2].encode())
    connection.recv(4096)
"""


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


def running_client(
    port: int, question: str = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
) -> contextlib.AbstractContextManager[tuple[int, int]]:
    """Run a client that asks what listens at a port all the time; its pid, and 0."""
    return running_server(CLIENT, port, question)


def watched(attach: Attach, pid: int, window_ns: int) -> Model:
    """Return a recording in which results of calls were read all along: others can make too many, now and then."""
    for _ in range(5):
        model = model_of(attach(pid, duration_ns=window_ns).wait())
        if model.footer and model.footer.calls_watched_until_ns is None:
            return model
    pytest.fail("this host makes more than 100,000 system calls a second on a CPU all the time")


def ask(connection: socket.socket, number: int) -> None:
    for _ in range(number):
        connection.sendall(b"please\n")
        assert connection.recv(100) == b"done"


def fault(model: Model, id: str) -> Finding | None:
    """Return that fault, if it was found.  On a busy host there are others: of CPUs, and of who waits for those."""
    found = [each for each in diagnose(model).findings if each.id == id and each.severity is not Severity.INFO]
    assert len(found) <= 1, found
    return found[0] if found else None


__all__ = ["ask", "fault", "go_first", "running_client", "running_command", "running_server", "watched"]
