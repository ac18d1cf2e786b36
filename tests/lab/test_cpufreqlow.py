"""cpufreqlow.bt: half of the time at half of the clock, as the lab's cpufreq driver sets it by hand."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from lab.test_values_clock import FAST, SLOW, clocks, set_to  # noqa: F401 - a fixture
from live.support.fixtures import Start, Trace

SPIN_NS = 3_000_000_000


def test_half_of_the_time_at_half_of_the_clock(clocks: Guest, start: Start, trace: Trace) -> None:  # noqa: F811
    """What is computed before and after the change; samples of 3 s are good to 10 %."""
    slow, fast = (start("spin", "--duration-ms", SPIN_NS // 1_000_000, "--cpu", 1) for _ in range(2))
    script = trace("cpufreqlow")
    clocks.run(set_to(SLOW))
    slow_ns = slow.run()["cpu_ns"]
    clocks.run(set_to(FAST))
    fast_ns = fast.run()["cpu_ns"]
    seen = script.stop(example=True)
    assert f"highest clock of CPU 0, in kHz:\n{FAST}\n" in seen.text
    ran = seen.sums("@ran_ns")
    assert set(ran) <= {"0", str(SLOW), str(FAST)}
    # Others run in the guest meanwhile, on the other CPU too.
    assert 0.8 * slow_ns <= ran[str(SLOW)] <= 1.2 * slow_ns + SPIN_NS / 2, (ran, slow_ns)
    assert 0.8 * fast_ns <= ran[str(FAST)] <= 1.2 * fast_ns + SPIN_NS / 2, (ran, fast_ns)


def test_only_the_process_counts(clocks: Guest, start: Start, trace: Trace) -> None:  # noqa: F811
    target = start("spin", "--duration-ms", SPIN_NS // 1_000_000, "--cpu", 1)
    script = trace("cpufreqlow", target)
    clocks.run(set_to(SLOW))
    truth = target.run()
    seen = script.stop()
    assert set(seen.maps["@ran_ns"]) == {(str(SLOW),)}
    assert seen.number("@ran_ns", str(SLOW)) == pytest.approx(truth["cpu_ns"], rel=0.1)


def test_a_clock_that_does_not_change(clocks: Guest, start: Start, trace: Trace) -> None:  # noqa: F811
    """As on a host where somebody left it behind: it is read, once."""
    clocks.run(set_to(SLOW))
    target = start("spin", "--duration-ms", SPIN_NS // 1_000_000, "--cpu", 1)
    script = trace("cpufreqlow", target)
    truth = target.run()
    seen = script.stop()
    assert seen.number("@ran_ns", "0") == pytest.approx(truth["cpu_ns"], rel=0.1)
    assert seen.text.count(f"CPU 1, whose time counts at 0 until its clock changes, is set to, in kHz:\n{SLOW}\n") == 1
