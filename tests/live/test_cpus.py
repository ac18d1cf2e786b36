"""Which CPUs the target had, and for how long: the same nanoseconds as in its threads' books, by CPU."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from perfdiag.recording import schema

from live.support.fixtures import Record, Start
from live.support.recorder import RECORDER
from live.support.recording import Recording, ns_of

CPU = max(os.sched_getaffinity(0))
MSR = Path("/sys/bus/event_source/devices/msr")


@pytest.mark.parametrize(("name", "options"), [("spin", ("--threads", 3)), ("pingpong", ("--count", 3001))])
def test_time_by_cpu_adds_up_to_the_books(start: Start, record: Record, name: str, options: tuple[object, ...]) -> None:
    recording, _ = record(start(name, *options))
    booked_ns = sum(ns_of(row, "cpu.") for row in recording.books)
    ran_ns = sum(line.ran_ns for line in recording.of(schema.Cpu))
    # A switch that the kernel does not announce is known to the books by the task's own clock, to no CPU: of a thread
    # that has one to itself that can be 200 ms.
    unseen = 0.25 if recording.footer.lost["switches_missing"] else 0.03
    assert (1 - unseen) * booked_ns <= ran_ns <= 1.03 * booked_ns, recording.footer.lost


def test_a_bound_thread_had_one_cpu(start: Start, record: Record) -> None:
    recording, truth = record(start("spin", "--duration-ms", 500, "--cpu", CPU))
    by_cpu = {line.cpu: line.ran_ns for line in recording.of(schema.Cpu)}
    assert by_cpu[CPU] >= 0.95 * truth["cpu_ns"], by_cpu
    assert all(line.clock_ns <= line.ran_ns for line in recording.of(schema.Cpu))
    for line in recording.of(schema.Cpu):
        window_ns = recording.footer.at_ns - recording.header.start_ns
        assert sum(entry[2] for entry in line.idle) <= window_ns - line.ran_ns + 1_000_000, line


# The counters of a guest are hidden, but for the time stamp counter: it stands for both.
STAND_IN = f"""
mount -t tmpfs tmpfs {MSR}/events
echo event=0x00 >{MSR}/events/aperf
echo event=0x00 >{MSR}/events/mperf
exec "$@"
"""


@pytest.mark.may_skip("the msr events of the kernel")
def test_cycles_are_counted_at_the_ticks_of_the_target(start: Start, tmp_path: Path) -> None:
    """What one counter says twice is the same, and as much as its clock makes it in the time of the ticks."""
    if not (MSR / "events/tsc").exists():
        pytest.skip("the msr events of the kernel are not here")
    target = start("spin", "--threads", 2, "--duration-ms", 2500)
    command = ["unshare", "--mount", "sh", "-ec", STAND_IN, "sh", RECORDER, "--pid", target.pid, "--duration", 3]
    path = tmp_path / "counted.jsonl"
    with path.open("wb") as output:
        recorder = subprocess.Popen(list(map(str, command)), stdout=output, stderr=subprocess.PIPE)
        assert recorder.stderr
        while b"attached" not in (said := recorder.stderr.readline()):
            assert said, "the recorder ended"
        target.run()
        _, rest = recorder.communicate(timeout=30)
    assert recorder.returncode == 0, rest
    recording = Recording(path)
    lines = recording.of(schema.Cpu)
    ticks = sum(line.clock_ticks for line in lines)
    delivered, rated = (sum(getattr(line, f"{name}_cycles") for line in lines) for name in ("delivered", "rated"))
    assert ticks >= 5, lines
    assert delivered == pytest.approx(rated, rel=0.001)
    megahertz = float(re.findall(r"cpu MHz\s*: ([0-9.]+)", Path("/proc/cpuinfo").read_text())[0])
    assert rated / ticks / recording.header.host.tick_ns * 1000 == pytest.approx(megahertz, rel=0.1)
    # Each tick is of time the target ran at least at its end.
    assert ticks * recording.header.host.tick_ns <= 3 * sum(line.ran_ns for line in lines)
