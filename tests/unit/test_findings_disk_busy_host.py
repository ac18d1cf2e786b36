"""Waits for disks on a host without a free CPU: whatever lies above the device waits for CPUs too.

A program whose flushes took 40 us in a calmer minute was told that "the time is lost above the device", surely.
"""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import finding, knowing

SSD = disk("254:0", "nvme0n1", kind="physical", rotational=False)
RULES = {"disk.flush": "DISK-FLUSH-SLOW", "disk.read": "DISK-READ-SLOW", "disk.write": "DISK-WRITE-SLOW"}


def flushing(
    idle: int | None = 0, queued: str = "2 s", service: str = "100 us", account: str = "disk.flush", lost: int = 0
) -> Model:
    """A thread whose flushes take 20 ms, on a host whose CPUs are idle for so many percent of the time."""
    builder = Builder().thread("db", cpu_user="1 s", runq_busy=(queued, 2000)).lost(storage_failed=lost)
    builder.row(account, "device:254:0", durations={"20 ms": 300})
    for operation in {"disk.flush": ("write", "flush"), "disk.read": ("read",)}.get(account, ("write",)):
        builder.device("254:0", operation, count=300, service=service, queue="10 us")
    times = {} if idle is None else {"user": 100 - idle, "idle": idle}
    return knowing(builder.model(), disks=disks(SSD), cpu_times_ns=times)


@pytest.mark.parametrize("account", RULES)
def test_without_a_free_cpu_the_kernels_own_threads_may_be_what_is_slow(account: str) -> None:
    found = finding(flushing(account=account), RULES[account])
    assert "idle 0 % of the time" in found.claim and "waited 2.00 s for one" in found.claim
    assert found.confidence is Confidence.LOW and "perfdiag host" in found.remedies[0].text
    assert found.severity is Severity.WARNING


def test_a_free_cpu_or_a_target_that_gets_one_is_no_such_reason() -> None:
    for model in (flushing(idle=20), flushing(idle=None), flushing(queued="100 ms")):
        found = finding(model, "DISK-FLUSH-SLOW")
        assert found.mechanism is Mechanism.ABOVE and "kernel's own threads" not in found.claim
        assert found.confidence is Confidence.HIGH


def test_a_device_that_is_slow_itself_is_slow_on_a_busy_host_too() -> None:
    found = finding(flushing(service="18 ms"), "DISK-FLUSH-SLOW")
    assert found.mechanism is Mechanism.SLOW and found.confidence is Confidence.HIGH


def test_what_was_lost_is_said_beside_it() -> None:
    found = finding(flushing(lost=500), "DISK-FLUSH-SLOW")
    assert found.confidence is Confidence.LOW and len(found.limits) > 1
