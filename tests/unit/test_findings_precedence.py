"""CPU-CONTENTION: why the other process goes first stands in the headline, and its remedy before all others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.rule import Finding
from perfdiag.facts.cgroup import Weight
from perfdiag.facts.competitors import Competitor

from unit.support.judging import finding, knowing
from unit.test_findings_going_behind import group
from unit.test_findings_runqueue import process, waiting

ROOT = "/sys/fs/cgroup"


def told(nice: int = 0, policy: int = 0, weighed: tuple[Weight, ...] = (), **known: Any) -> Finding:
    seen = Competitor(7, False, nice, policy, None, None, weighed)
    facts = {"processes": {100: process("0-3")}, "competitors": {7: seen}, **known}
    return finding(knowing(waiting("task:7:x").model(), **facts), "CPU-CONTENTION")


def weight(value: int, path: str = f"{ROOT}/others") -> tuple[Weight, ...]:
    return (Weight(directory=path, version=2, weight=value),)


@pytest.mark.parametrize("policy", [1, 2, 6])
def test_a_real_time_policy(policy: int) -> None:
    """The first remedy was to let the target use other CPUs."""
    found = told(policy=policy)
    assert found.headline == "Threads wait for a CPU that other processes use: x (7), as it has a real-time policy"
    assert "chrt -a -o -p 0 7" in found.remedies[0].text


def test_the_weights_of_two_control_groups() -> None:
    own = [group(path=f"{ROOT}/invoices", weight=4, usage_ns=0)]
    found = told(weighed=weight(80), cpu_groups=own)
    assert found.headline.endswith(", as its CPU weight is 80, that of the target 4")
    assert found.remedies[0].text == f"echo 16 > {ROOT}/invoices/cpu.weight"


def test_a_nice_value_of_another_or_of_the_target() -> None:
    assert told(nice=-10).headline.endswith(", as it runs at nice -10")
    yields = {100: replace(process("0-3"), nice=19)}
    assert told(processes=yields).headline.endswith(", as the target runs at nice 19")


def test_two_that_go_by_turns_have_no_precedence() -> None:
    own = [group(path=f"{ROOT}/invoices", weight=60, usage_ns=0)]
    inside = [group(path=f"{ROOT}/others/mine", weight=4, usage_ns=0)]
    for found in (
        told(),
        told(nice=5),
        told(weighed=weight(80), cpu_groups=own),
        told(weighed=weight(80), cpu_groups=inside),
    ):
        assert found.headline == "Threads wait for a CPU that other processes use: x (7)", found.headline
