"""Timers that interrupt CPUs far more often than the kernel's tick."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity

from unit.support import Builder
from unit.support.judging import finding

INTERRUPTS = "           CPU0       CPU1\n  0:         12          0   IO-APIC\n{}"
LOC = "LOC:      {}      {}   Local timer interrupts\n"
ARM = " 11:      {}      {}   GICv3  27 Level     arch_timer\n"
SOFTIRQS = "          CPU0\nNET_RX:    {}\n"


def interrupted(per_second: int, line: str = LOC, packets: int = 0) -> Builder:
    builder = Builder().thread("app", cpu_user="6 s", cpu_irq="3 s")
    texts = [INTERRUPTS.format(line.format(count, 100)) for count in (500, 500 + 10 * per_second)]
    builder.fact("/proc/softirqs", SOFTIRQS.format(0), SOFTIRQS.format(10 * packets))
    return builder.fact("/proc/interrupts", *texts)


@pytest.mark.parametrize("line", [LOC, ARM])
def test_interrupts_that_take_a_quarter_of_the_cpu_are_the_timers(line: str) -> None:
    """A profiler sampled 9,000 times a second."""
    found = finding(interrupted(9000, line).model(), "CPU-IRQ-HEAVY")
    assert found.headline.endswith("of the CPU time for timers") and found.severity is Severity.WARNING
    assert "hrtimer_expire_entry" in found.remedies[0].text


@pytest.mark.parametrize("builder", [interrupted(1000), interrupted(9000, packets=20_000)])
def test_neither_the_tick_nor_timers_beside_more_packets(builder: Builder) -> None:
    found = finding(builder.model(), "CPU-IRQ-HEAVY")
    assert "timers" not in found.headline and "hrtimer" not in found.remedies[0].text
