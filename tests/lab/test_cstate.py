"""cstate.bt: with one idle state to choose from, that is the one that is slept in and left for each wake-up."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from lab.test_idle import COUNT, only, usage
from live.support.fixtures import Start, Trace


@pytest.mark.parametrize("waker", ["timer", "another CPU"])
def test_the_only_state(guest: Guest, start: Start, trace: Trace, waker: str) -> None:
    state = 3
    options = ["--waker-cpu", 0] if waker == "another CPU" else []
    with only(guest, state):
        workload = start("wake", "--count", COUNT, "--cpu", 1, *options)
        script = trace("cstate", workload)
        before = [sum(usage(guest, cpu)) for cpu in (0, 1)]
        truth = workload.run()
        seen = script.stop(example=waker != "timer")
        after = [sum(usage(guest, cpu)) for cpu in (0, 1)]
    assert set(seen.maps["@sleeps"]) == {(str(state),)} == {key[:1] for key in seen.maps["@wakeups"]}
    assert COUNT / 2 <= seen.stats("@sleeps", str(state)).count <= sum(after) - sum(before) + COUNT
    wakeups = [seen.stats("@wakeups", *key) for key in seen.maps["@wakeups"]]
    # The others found somebody on their CPU.
    assert COUNT / 2 <= sum(each.count for each in wakeups) <= 2 * COUNT + 20
    if options:
        asleep = seen.stats("@wakeups", str(state), "asleep")
        assert asleep.count >= COUNT / 2
        assert asleep.average * COUNT / 2 < truth["wake_ns"], "no more than waker and woken saw themselves"
    name, latency = (guest.run(f"cat /sys/devices/system/cpu/cpu0/cpuidle/state{state}/{file}") for file in FILES)
    assert f"State {state}, " in seen.text and f"\n{name}\n{latency}\n" in seen.text


FILES = ("name", "latency")
