"""The scheduler's tick is found on every kernel: its function has had two names, and one of them is another's, too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from perfdiag.recording import schema

from lab.support.guest import Guest
from live.support.fixtures import Record, Start

EVENTS = "/sys/bus/event_source/devices/msr/events"


@pytest.fixture
def counters(guest: Guest) -> Iterator[None]:
    """The counters of cycles are hidden from a guest, but for the time stamp counter: it stands for both."""
    with contextlib.ExitStack() as stack:
        guest.run(f"mount -t tmpfs tmpfs {EVENTS}")
        stack.callback(guest.try_run, f"umount {EVENTS}")
        guest.run(f"for name in aperf mperf; do echo event=0x00 >{EVENTS}/$name; done")
        yield


@pytest.mark.usefixtures("counters")
def test_a_spinner_is_sampled_and_its_cycles_are_counted(start: Start, record: Record) -> None:
    recording, truth = record(start("spin", "--duration-ms", 4000, "--cpu", 1))
    samples = [stack for stack in recording.of(schema.Stack) if stack.kind == "cpu"]
    assert sum(stack.count for stack in samples) >= 5, "no tick of it was seen"
    assert any("burn_cpu" in frame for stack in samples for frame in stack.user), samples
    lines = recording.of(schema.Cpu)
    # Of a guest that waits for its host, ticks are missing.
    assert sum(line.clock_ticks for line in lines) >= 1, lines
    delivered, rated = (sum(getattr(line, f"{name}_cycles") for line in lines) for name in ("delivered", "rated"))
    assert delivered == pytest.approx(rated, rel=0.02)
    assert sum(line.ran_ns for line in lines) >= 0.9 * truth["cpu_ns"]
