"""Fixtures of the live tests: every recording made through them is held against the laws."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live.support import laws
from live.support.fixtures import Attach, Cleanup, Record, Recorded, Serving, Start
from live.support.model import check_model
from live.support.recorder import RECORDER, Recorder
from live.support.serving import Server
from live.support.truth import assert_all_waits_seen
from live.support.workload import WORKLOADS, Workload


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """Everything that is run has been built."""
    for path in (RECORDER, WORKLOADS / "spin"):
        assert path.exists(), f"{path} is missing: run `make build workloads` first"


@pytest.fixture
def cleanup() -> Iterator[Cleanup]:
    """Whatever a test starts is ended in reverse order, also when the test fails."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def start(cleanup: Cleanup) -> Start:
    """Start a workload that waits for its start: ``start("flush", "--count", 23)``."""
    return lambda name, *arguments, **options: cleanup.enter_context(Workload(name, *arguments, **options))


@pytest.fixture
def serving(cleanup: Cleanup) -> Serving:
    """Start a server on loopback: ``serving("thread_each(listening(), sleeps(0.01))")``."""
    return lambda call: cleanup.enter_context(Server(call))


@pytest.fixture
def attach(cleanup: Cleanup, tmp_path: Path) -> Attach:
    """Attach a recorder to workloads or pids: ``attach(flush, only=True)``."""
    number = itertools.count(1)

    def attach(*targets: Workload | int, **options: Any) -> Recorder:
        pids = [target if isinstance(target, int) else target.pid for target in targets]
        output = tmp_path / f"recording-{next(number)}.jsonl"
        return cleanup.enter_context(Recorder(pids, output, **options))

    return attach


@pytest.fixture
def record(attach: Attach) -> Record:
    """Record a prepared workload from its start to its end; return the recording, found lawful, and its truth."""

    def record(workload: Workload, **options: Any) -> Recorded:
        recorder = attach(workload, **options)
        truth = workload.run()
        recording = recorder.wait("targets gone") if not options.get("duration_ns") else recorder.wait()
        laws.check(recording)
        check_model(recording)
        if "blocks" in truth:
            assert_all_waits_seen(recording, recording.thread(workload.pid), truth["blocks"])
        return recording, truth

    return record
