"""Requests whose threads run a child and read what that writes, and its errors, at two pipes at once."""

from __future__ import annotations

import socket

import pytest
from perfdiag.diagnosis.engine import diagnose

from live.support.calling import ask, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.recording import ns_of

REQUESTS = 13

# Runs a child that computes in the middle of each request, or between requests.
RUNNING = """
import os, select, socket, subprocess, sys
CHILD = [sys.executable, "-ISc", "print(sum(number * number for number in range(400_000)))"]
between = sys.argv[1] == "between"
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
while connection.recv(100):
    if not between:
        subprocess.run(CHILD, capture_output=True, check=True)
    connection.sendall(b"done")
    if between:
        subprocess.run(CHILD, capture_output=True, check=True)
"""


@pytest.mark.quiet
@pytest.mark.parametrize("when", ["inside", "between"])
def test_what_a_child_does_that_is_read_at_two_pipes(when: str, attach: Attach, cleanup: Cleanup) -> None:
    """Who hears of its children between requests waits for events, as a supervisor."""
    pid, port = cleanup.enter_context(running_server(RUNNING, when))
    with socket.create_connection(("127.0.0.1", port)) as client:
        ask(client, 2)
        recorder = attach(pid)
        ask(client, REQUESTS)
        recording = recorder.stop()
    thread, model = recording.thread(pid), model_of(recording)
    polled_ns, at_pipes_ns = ns_of(thread, "wait.events"), ns_of(thread, "ipc.pipe")
    assert model.measured("requests") and (at_pipes_ns > 4 * polled_ns) == (when == "inside"), (at_pipes_ns, polled_ns)
    if when == "inside":
        found = next(each for each in diagnose(model).findings if each.id == "PROC-CHILD-SLOW")
        assert "Requests start" in found.headline and found.share > 0.4, found
