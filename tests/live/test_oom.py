"""The OOM killer strikes while the recorder runs: the target, a neighbour, perfdiag's own Python side."""

from __future__ import annotations

import io
import signal
import subprocess
import time
from pathlib import Path

import pytest
from perfdiag.diagnosis.rule import Confidence, Finding, Severity
from perfdiag.diagnosis.rules.memory.oom_kill import oom_kill
from perfdiag.model import builder
from perfdiag.recording import reader, schema

from live.support.dying import PROGRAM
from live.support.fixtures import Attach, Cleanup, Start
from live.support.host import MEBIBYTE, cgroup, enter
from live.support.recording import Recording
from unit.support.waiting import until

STEP_SECONDS = 0.3
LIMIT_MEBIBYTES = 37

pytestmark = pytest.mark.may_skip("a memory controller of cgroup version 1")


def only_finding(recording: Recording) -> Finding:
    model = builder.build(reader.read(io.BytesIO(recording.path.read_bytes())))
    found = [outcome for outcome in oom_kill(model) if isinstance(outcome, Finding)]
    assert len(found) == 1, found
    return found[0]


def victims(recording: Recording) -> list[tuple[int, str]]:
    return [(event.pid, event.text) for event in recording.of(schema.Event) if event.name == "oom_kill"]


def test_the_target_itself(cleanup: Cleanup, start: Start, attach: Attach) -> None:
    group = cleanup.enter_context(cgroup("memory", "oom-target", limit_in_bytes=LIMIT_MEBIBYTES * MEBIBYTE))
    target = start("devour", "--mebibytes", 2 * LIMIT_MEBIBYTES, prepare=enter(group))
    recorder = attach(target)
    target.start()
    recording = recorder.wait("targets gone")
    assert target.process.wait(60) == -signal.SIGKILL
    assert victims(recording) == [(target.pid, "devour")]
    found = only_finding(recording)
    assert found.severity is Severity.CRITICAL and "target" in found.claim
    assert f"/{group.name} " in found.claim or found.confidence is Confidence.LOW, found


def test_a_neighbour(cleanup: Cleanup, start: Start, attach: Attach) -> None:
    group = cleanup.enter_context(cgroup("memory", "oom-neighbour", limit_in_bytes=LIMIT_MEBIBYTES * MEBIBYTE))
    target = start("spin", "--duration-ms", 60_000)
    neighbour = start("devour", "--mebibytes", 2 * LIMIT_MEBIBYTES, prepare=enter(group))
    recorder = attach(target)
    target.start()
    neighbour.start()
    assert neighbour.process.wait(60) == -signal.SIGKILL
    recording = recorder.stop()
    assert (neighbour.pid, "devour") in victims(recording)
    found = only_finding(recording)
    assert found.severity is Severity.INFO and not found.claims


def test_the_python_side(tmp_path: Path, cleanup: Cleanup, start: Start) -> None:
    """It goes first, and says so; what was recorded until then is a recording that says why it ended."""
    group = cleanup.enter_context(cgroup("memory", "oom-python", limit_in_bytes=128 * MEBIBYTE))
    target = start("spin", "--duration-ms", 60_000)
    target.start()
    path = tmp_path / "x.rec"
    words = [str(PROGRAM), "record", "-o", str(path), "--duration", "0", "--pid", str(target.pid)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True, preexec_fn=enter(group), start_new_session=True) as process:  # type: ignore[call-overload]
        assert process.stderr and "recording" in process.stderr.readline()
        until(lambda: path.stat().st_size, "the recording has begun")
        for mebibytes in (72, *[1] * 52):  # in small steps: once the first has gone there is room again
            start("devour", "--mebibytes", mebibytes, "--hold", 60_000, prepare=enter(group)).start()
            time.sleep(STEP_SECONDS)
            if process.poll() is not None:
                break
        _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and "the kernel's OOM killer took it first" in said
    until(lambda: b'{"type":"footer"' in path.read_bytes(), "the recorder has written its last line")
    recording = Recording(path)
    assert any(pid == process.pid for pid, _ in victims(recording)), recording.of(schema.Event)
