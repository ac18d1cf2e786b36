"""Timers that interrupt CPUs far more often than the kernel's tick."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity

from unit.support import Builder
from unit.support.judging import finding
from unit.support.reports import made

INTERRUPTS = "           CPU0       CPU1\n  0:         12          0   IO-APIC\n{}"
LOC = "LOC:      {}      {}   Local timer interrupts\n"
ARM = " 11:      {}      {}   GICv3  27 Level     arch_timer\n"


def interrupted(per_second: int, line: str = LOC, **accounts: str) -> Builder:
    builder = Builder().thread("app", **(accounts or {"cpu_user": "8 s"}))
    texts = [INTERRUPTS.format(line.format(count, 100)) for count in (500, 500 + 10 * per_second)]
    return builder.fact("/proc/interrupts", *texts)


@pytest.mark.parametrize("line", [LOC, ARM])
def test_a_target_that_computes_is_told_who_interrupts_it(line: str) -> None:
    """A profiler at 9,000 Hz took half of its CPU: "it is computing"."""
    model = interrupted(6200, line).model()
    text = made(model, *diagnose(model).findings).verdict.text
    assert "Timers interrupt a CPU 6,200 times a second" in text
    assert "hrtimer_expire_entry" in finding(model, "CPU-BOUND").remedies[0].text


def test_the_tick_is_not() -> None:
    model = interrupted(1000).model()
    assert "Timers interrupt" not in made(model, *diagnose(model).findings).verdict.text


def test_interrupts_that_take_a_quarter_of_the_cpu_are_the_timers() -> None:
    found = finding(interrupted(9000, cpu_user="6 s", cpu_irq="3 s").model(), "CPU-IRQ-HEAVY")
    assert found.headline.endswith("of the CPU time for timers") and found.severity is Severity.WARNING
    assert "hrtimer_expire_entry" in found.remedies[0].text
