"""Targets that do nothing, met for real: they sleep, wait for work, are traced, or are stuck."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from perfdiag.diagnosis.engine import diagnose

from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

NAPS = "import time\nprint(flush=True)\nwhile True: time.sleep(0.3)"
LISTENS = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(flush=True)\ns.accept()"
STUCK = "import threading\nprint(flush=True)\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"
ASKS = "import os\nprint(flush=True)\nwhile True: os.stat('/')"


def started(cleanup: Cleanup, program: str) -> subprocess.Popen[bytes]:
    process = cleanup.enter_context(subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE))
    cleanup.callback(process.kill)
    assert process.stdout
    process.stdout.readline()
    return process


def found(attach: Attach, pid: int) -> list[str]:
    recorder = attach(pid)
    time.sleep(2)
    return [finding.id for finding in diagnose(model_of(recorder.stop())).findings]


@pytest.mark.parametrize(
    ("program", "id"),
    [(NAPS, "TARGET-SLEEPS"), (LISTENS, "TARGET-IDLE"), (STUCK, "TARGET-BLOCKED-OR-IDLE")],
)
def test_a_target_that_does_nothing(program: str, id: str, cleanup: Cleanup, attach: Attach) -> None:
    assert id in found(attach, started(cleanup, program).pid)


def test_a_target_whose_calls_are_traced(cleanup: Cleanup, attach: Attach) -> None:
    target = started(cleanup, ASKS)
    tracer = cleanup.enter_context(
        subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
    )
    cleanup.callback(tracer.terminate)
    time.sleep(0.3)
    assert found(attach, target.pid)[0] == "TARGET-TRACED"
