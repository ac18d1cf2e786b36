"""Idle states: which one a woken thread's CPU was in, how often CPUs sleep, and that recording does not wake them."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator

import pytest
from perfdiag.recording import schema

from lab.support.guest import CPUS, Guest
from live.support.fixtures import Attach, Record, Start
from live.support.recording import Recording, ns_of

STATES = 5  # POLL and the four of states.asl
CPUIDLE = "/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"
COUNT = 211


def usage(guest: Guest, cpu: int) -> list[int]:
    """Return how often each state of a CPU was entered since boot, as cpuidle counts it."""
    return [int(word) for word in guest.run(f"cat {CPUIDLE.format(cpu=cpu, state='*')}/usage").split()]


@contextlib.contextmanager
def only(guest: Guest, state: int) -> Iterator[None]:
    """Let all CPUs sleep in one state, and wait until none is in another."""

    def disable(value: int) -> str:
        paths = [CPUIDLE.format(cpu=cpu, state=n) for cpu in range(CPUS) for n in range(STATES) if n != state]
        return "\n".join(f"echo {value} >{path}/disable" for path in paths)

    try:
        guest.run(disable(1) + "\nsleep 0.5")
        yield
    finally:
        guest.run(disable(0))


def cpu_line(recording: Recording, number: int) -> schema.Cpu:
    (line,) = [cpu for cpu in recording.of(schema.Cpu) if cpu.cpu == number]
    return line


@pytest.mark.parametrize(
    ("waker", "state"),
    [
        ("timer", 0),
        ("timer", 1),
        ("timer", 3),
        ("another CPU", 0),
        ("another CPU", 1),
        ("another CPU", 3),
    ],
)
def test_the_only_state_is_the_one_that_is_left(
    guest: Guest, start: Start, record: Record, state: int, waker: str
) -> None:
    """Wake-ups carry the state that was left, and states are entered as often as the kernel itself counts."""
    options = ["--waker-cpu", 0] if waker == "another CPU" else []
    with only(guest, state):
        before = usage(guest, 1)
        recording, truth = record(start("wake", "--count", COUNT, "--cpu", 1, *options))
        after = usage(guest, 1)
    thread = recording.thread(truth["pid"])
    by_object = {line.object: line.count for line in recording.details("runq.waking")}
    known = {key: count for key, count in by_object.items() if key not in ("", "idle:awake")}
    assert set(known) <= {f"idle:{state}", f"idle:{state}:left"}, by_object
    assert by_object.get("", 0) <= CPUS, f"only of periods that began before the start: {by_object}"
    # The others found somebody on their CPU, as is to be with a recorder on two CPUs.
    assert known[f"idle:{state}"] >= COUNT / 2 and sum(known.values()) >= 0.8 * sum(by_object.values()), by_object
    line = cpu_line(recording, 1)
    assert [entry[0] for entry in line.idle] == [state], line
    entered = after[state] - before[state]
    assert sum(known.values()) / 2 <= line.idle[0][1] <= entered, f"{line}: cpuidle counts {entered}"
    assert line.idle[0][2] <= recording.footer.at_ns - recording.header.start_ns
    if options:
        woke_ns = sum(ns_of(thread, account) for account in ("runq.waking", "runq.busy"))
        assert woke_ns <= 1.1 * truth["wake_ns"], "no more than waker and woken saw themselves"


def test_each_state_is_counted_as_the_kernel_counts(guest: Guest, start: Start, attach: Attach) -> None:
    """With all states to choose from, over the same window."""
    target = start("wake", "--count", COUNT, "--every-us", 20_000, "--cpu", 1)
    before = usage(guest, 1)
    recorder = attach(target)
    target.run()
    recording = recorder.wait("targets gone")
    after = usage(guest, 1)
    seen = {state: count for state, count, _ in cpu_line(recording, 1).idle}
    for state in range(STATES):
        assert seen.get(state, 0) <= after[state] - before[state], (state, seen, before, after)
    # Between the end of the window and that reading seconds may pass: the least is what the target slept itself.
    assert sum(seen.values()) >= 0.9 * COUNT, (seen, before, after)


def test_recording_wakes_no_idle_cpu(guest: Guest, start: Start, attach: Attach) -> None:
    """A target that sleeps: CPUs enter idle states as often with a recorder as without one."""
    target = start("wake")  # not told to begin: it waits for work
    seconds, rounds = 4, 3

    def entered() -> float:
        states = f"cat /sys/devices/system/cpu/cpu*/cpuidle/state*/usage; sleep {seconds}; echo -"
        first, _, last = guest.run(f"{states}; cat /sys/devices/system/cpu/cpu*/cpuidle/state*/usage").partition("-")
        return (sum(map(int, last.split())) - sum(map(int, first.split()))) / seconds

    without, recorded, own = [], [], []
    for _ in range(rounds):
        without.append(entered())
        with attach(target) as recorder:
            time.sleep(4)  # until it has found the target asleep twice
            waits = f"sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/{recorder.process_pid}/status"
            woken = int(guest.run(waits))
            recorded.append(entered())
            own.append(int(guest.run(waits)) - woken)
    assert statistics.median(own) <= 2, f"the recorder itself woke {own} times in {seconds} s"
    more = statistics.median(recorded) - statistics.median(without)
    noise = max(without) - min(without) + 0.1 * statistics.median(without)
    assert more <= noise + 1, f"{recorded} entries a second with a recorder, {without} without"
