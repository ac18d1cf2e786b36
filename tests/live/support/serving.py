"""Servers on loopback that a test records, and clients that measure what they waited for each answer."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from perfdiag.model.requests.exchanges import Exchange, exchanges_of
from perfdiag.recording import schema

from live.support import laws
from live.support.model import check_model
from live.support.recorder import Recorder
from live.support.recording import Recording
from live.support.workload import PATIENCE_SECONDS

SO_TIMESTAMPNS = 35  # of the socket module since Python 3.13 only
TESTS = Path(__file__).parents[2]
PROGRAM = f"""
import sys, time
sys.path.insert(0, {str(TESTS)!r})
from live.support.served import *
from live.support.served_late import *
from live.support.served_together import *
"""


class Server:
    """A process that serves as one call of served.py, or of a file beside it, says; a context manager that ends it."""

    def __init__(self, call: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-c", f"{PROGRAM}{call}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().decode().strip()
        assert self.address, f"{call} ended early with status {self.process.wait(PATIENCE_SECONDS)}"

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def port(self) -> int:
        return int(self.address)

    def connect(self) -> socket.socket:
        """Return a new connection to it."""
        if not self.address.isdecimal():
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(self.address)
            return connection
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # its children too
        self.process.wait(PATIENCE_SECONDS)
        assert self.process.stdout
        self.process.stdout.close()


def http(path: str = "/", *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    """Return the bytes of a request."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode() + body


def asked(connection: socket.socket, request: bytes, end: bytes = b"ok") -> int:
    """Send a request and read its answer, up to what it ends with; return the nanoseconds until that was there.

    The kernel says when it came: how long the client then waits for a CPU is none of the server's.
    """
    connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    begin = time.time_ns()
    connection.sendall(request)
    return answered(connection, end) - begin


def answered(connection: socket.socket, end: bytes = b"ok") -> int:
    """Read until the bytes that end an answer; return when the last of them came, 0 where the socket does not tell."""
    answer, at_ns = b"", 0
    while not answer.endswith(end):
        more, told, _, _ = connection.recvmsg(65536, 64)
        assert more, f"the connection ended within an answer: {answer!r}"
        answer += more
        for _, kind, data in told:
            if kind == SO_TIMESTAMPNS:
                seconds, ns = struct.unpack("qq", data)
                at_ns = seconds * 1_000_000_000 + ns
    return at_ns


def cut(request: bytes, size: int) -> list[bytes]:
    """Return pieces of so many bytes."""
    return [request[begin : begin + size] for begin in range(0, len(request), size)]


def stopped(recorder: Recorder) -> Recording:
    """Stop the recorder; what it recorded is lawful."""
    recording = recorder.stop()
    laws.check(recording)
    check_model(recording)
    return recording


def exchanged(recording: Recording, direction: str) -> dict[str, Exchange]:
    """Return the requests ("accepted") or calls of a recording by name, of calls by object."""
    lines = [line for line in recording.of(schema.Exchange) if line.direction == direction]
    found = exchanges_of(lines, [line for line in recording.of(schema.Latency) if line.direction == direction])
    keyed = {each.line.name if direction == "accepted" else each.line.object: each for each in found}
    assert len(keyed) == len(found), found
    return keyed


def served(recording: Recording, name: str) -> Exchange:
    """Return the requests of one name, which are all that were served; what was timed agrees with what was summed."""
    found = exchanged(recording, "accepted")
    assert set(found) == {name}, {key: each.line for key, each in found.items()}
    one = found[name]
    assert one.whole.count == one.line.count and one.whole.sum_ns == one.line.sum_ns, one
    assert sum(one.whole.buckets.values()) == one.whole.count, one
    return one


__all__ = ["Server", "answered", "asked", "cut", "exchanged", "http", "served", "stopped"]
