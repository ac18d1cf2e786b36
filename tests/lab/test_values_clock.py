"""Clocks as the cpufreq driver of the lab reports them: 2400, 1800 and 1200 MHz, in name only.

It runs last: the driver, once loaded, takes away the clock that needs no system call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Mechanism, Outcome, Severity
from perfdiag.diagnosis.rules.cpu.cpu_frequency_low import low_clock
from perfdiag.recording import schema

from lab.support.guest import Guest
from live.support.fixtures import Attach, Record, Start
from live.support.model import model_of
from live.support.recording import Recording, matches

POLICIES = "/sys/devices/system/cpu/cpufreq/policy*"
FAST, SLOW = 2_400_000, 1_200_000
MILLISECONDS = 6000
TRIES = 3


def set_to(khz: int) -> str:
    """Return what sets the clock of all CPUs."""
    return f"for p in {POLICIES}; do echo {khz} >$p/scaling_setspeed; done\n"


@pytest.fixture
def clocks(guest: Guest) -> Iterator[Guest]:
    """All clocks are set by hand, and fast."""
    guest.run("modprobe acpi_cpufreq; modprobe cpufreq_userspace")
    guest.run(f"for p in {POLICIES}; do echo userspace >$p/scaling_governor; done\n" + set_to(FAST))
    yield guest
    guest.run(f"for p in {POLICIES}; do echo performance >$p/scaling_governor; done")


def said(recording: Recording) -> Outcome:
    (outcome,) = low_clock(model_of(recording))
    return outcome


def knows_its_clocks(recording: Recording) -> bool:
    """A guest on a busy host may be too slow for the recorder's patience with the files of /sys: one second."""
    facts = recording.of(schema.Fact)
    return any(fact.phase == "begin" and fact.text and fact.path.endswith("/scaling_cur_freq") for fact in facts)


def spinning(start: Start, record: Record) -> Recording:
    """Return the recording of a thread that computes on CPU 1, in which the clocks could be read."""
    for _ in range(TRIES):
        recording, _ = record(start("spin", "--duration-ms", MILLISECONDS, "--cpu", 1))
        if knows_its_clocks(recording):
            return recording
    raise AssertionError("the clocks could not be read: is the host too busy for the lab?")


def ran_until(intervals: Sequence[schema.Interval], at_ns: int) -> float:
    """Return how long the target had run at a moment, between two interval rows."""
    before = max((line for line in intervals if line.at_ns <= at_ns), key=lambda line: line.at_ns)
    after = min((line for line in intervals if line.at_ns > at_ns), key=lambda line: line.at_ns)
    first, last = (
        sum(total.sum_ns for total in line.accounts if matches(total.account, ("cpu.",))) for line in (before, after)
    )
    return first + (last - first) * (at_ns - before.at_ns) / (after.at_ns - before.at_ns)


def test_a_clock_at_half_is_found(clocks: Guest, start: Start, record: Record) -> None:
    clocks.run(set_to(SLOW))
    found = said(spinning(start, record))
    assert isinstance(found, Finding) and found.severity is Severity.WARNING, found
    assert found.mechanism is Mechanism.LIMIT and found.evidence[0].value == pytest.approx(0.5, abs=0.005), found
    assert found.confidence is not Confidence.HIGH and any("estimate" in limit for limit in found.limits)
    trial = next(remedy for remedy in found.remedies if remedy.undo)
    assert trial.text == "cpupower frequency-set -g performance"
    assert trial.undo == "cpupower frequency-set -f 1200000kHz"


def test_a_full_clock_is_fine(clocks: Guest, start: Start, record: Record) -> None:
    found = said(spinning(start, record))
    assert isinstance(found, Check) and found.number == pytest.approx(1.0), found


def test_a_clock_that_changes_is_weighed_by_the_targets_time(clocks: Guest, start: Start, attach: Attach) -> None:
    """Slower from the middle on; what it ran before and after is known from the intervals of the recording."""
    uptime = "cut -d ' ' -f 1 /proc/uptime\n"
    for _ in range(TRIES):
        clocks.run(set_to(FAST))
        target = start("spin", "--duration-ms", 2 * MILLISECONDS, "--cpu", 1)
        recorder = attach(target)
        target.start()
        times = clocks.run(f"sleep 2\n{uptime}{set_to(SLOW)}{uptime}").split()
        target.truth()
        recording = recorder.wait("targets gone")
        if knows_its_clocks(recording):
            break
    (line,) = [cpu for cpu in recording.of(schema.Cpu) if cpu.cpu == 1]
    assert line.clock_changes == 1, line
    assert line.clock_cycles == pytest.approx(line.clock_ns * SLOW / 1e6, rel=0.001)
    before_ns = line.ran_ns - line.clock_ns
    least, most = (ran_until(recording.of(schema.Interval), int(float(text) * 1e9)) for text in times)
    assert least - 50e6 <= before_ns <= most + 50e6, f"{least} to {most}: {line}"
    found = said(recording)
    assert isinstance(found, Finding)
    expected = (before_ns * FAST + line.clock_ns * SLOW) / line.ran_ns / FAST
    assert found.evidence[0].value == pytest.approx(expected, abs=0.02)
