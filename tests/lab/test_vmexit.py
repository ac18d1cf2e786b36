"""vmexit.bt: a guest that leaves a known number of times for each reason, handled by the kernel or by user space."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from live.support.fixtures import Start, Trace


@pytest.fixture(autouse=True)
def _kvm(guest: Guest) -> None:
    guest.run("modprobe kvm_amd")


def test_exits_by_reason(start: Start, trace: Trace) -> None:
    workload = start("kvm_guest", "--rounds", 3, "--service-us", 50)
    script = trace("vmexit", workload)
    truth = workload.run()
    seen = script.stop(example=True)
    asked = seen.stats("@exits", "user", "IOIO")
    assert asked.count == truth["outs"] + truth["ins"] == 3 * (101 + 53)
    assert seen.stats("@exits", "kernel", "CPUID").count == 3 * 211
    assert seen.stats("@exits", "user", "NPF").count == truth["mmios"] == 3 * 31
    assert seen.stats("@exits", "user", "HLT").count == truth["halts"] == 3 * 23
    assert asked.total >= 50_000 * asked.count
    assert seen.unseen == 1, "the first entry"
    whole_ns = truth["run_ns"] + truth["service_ns"]
    exits = [seen.stats("@exits", *key) for key in seen.maps["@exits"]]
    inside_ns = sum(each.total for each in exits) + seen.stats("@stays").total
    assert 0.9 * whole_ns <= inside_ns <= 1.2 * whole_ns, (inside_ns, truth)
    assert abs(sum(each.count for each in exits) - seen.stats("@stays").count) <= 1


def test_a_halt_inside_the_kernel(start: Start, trace: Trace) -> None:
    options = ("--irqchip", 1, "--halts", 61, "--halt-us", 5000, "--outs", 7, "--ins", 0, "--writes", 0)
    workload = start("kvm_guest", *options)
    script = trace("vmexit", workload)
    truth = workload.run()
    seen = script.stop()
    halts = seen.stats("@exits", "kernel", "HLT")
    assert halts.count == 61
    assert 0.3 * 61 * 5_000_000 <= halts.total <= truth["run_ns"]
    assert seen.stats("@exits", "user", "IOIO").count == 7


def test_other_guests_are_not_traced(start: Start, trace: Trace) -> None:
    script = trace("vmexit", start("sleeper"))
    start("kvm_guest").run()
    seen = script.stop()
    assert set(seen.maps) <= {"@unseen"} and seen.unseen == 0
