"""Processes of the target that a signal ends."""

from __future__ import annotations

import signal

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema

from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.snippets import recorded_snippet

ENDS = """
import os, resource, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print("ready", flush=True)
sys.stdin.readline()
time.sleep(0.1)
if number := int(sys.argv[1]):
    os.kill(os.getpid(), number)
"""


@pytest.mark.parametrize("number", [0, signal.SIGABRT, signal.SIGTERM])
def test_the_signal_that_ended_a_process_is_recorded(number: int, attach: Attach, cleanup: Cleanup) -> None:
    recording, pid = recorded_snippet(attach, cleanup, ENDS, int(number))
    found = [(each.pid, each.signal, each.core_dumped) for each in recording.of(schema.Event) if each.name == "signal"]
    assert found == ([(pid, number, False)] if number else [])
    told = {each.id for each in diagnose(model_of(recording)).findings}
    assert ("PROC-CRASHED" in told) is (number == signal.SIGABRT)
