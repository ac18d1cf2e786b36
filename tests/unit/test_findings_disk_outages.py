"""Disks that answered nothing for a while: a few waits that are longer by far than all others."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import activity, disk, disks
from unit.support.judging import finding, findings, knowing

READ, FLUSH = "DISK-READ-SLOW", "DISK-FLUSH-SLOW"
S, MS = 1_000_000_000, 1_000_000


def lost(long: dict[str, int], account: str = "disk.read", *, service: str = "2 ms", **counted: Any) -> Model:
    """500 fast waits and some long ones, for a disk whose requests take so long."""
    builder = Builder(window="20 s").thread("db", cpu_user="1 s")
    builder.row(account, "device:8:0", durations={"2 ms": 500} | long)
    builder.device("8:0", {"disk.read": "read"}.get(account, "flush"), count=503, service=service)
    known = disk("8:0", "sda", kind="physical", activity=activity(reads=503, **{"busy_ns": S} | counted))
    return knowing(builder.model(), disks=disks(known))


def test_commands_that_were_lost_are_no_slow_disk() -> None:
    """Three reads of 500 waited for a timeout of the driver: "500 reads add up; the disk is fast", no problem."""
    found = finding(lost({"3.9 s": 3}, service="3.9 s"), READ)
    assert found.headline == "The disk under sda (8:0) did not answer for up to 3.90 s"
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.FAILED
    assert found.claims["disk.read", "device:8:0"] == pytest.approx(11.7e9, rel=0.05)
    assert "timeouts" in found.remedies[0].text and "3 of 503 reads" in found.claim


def test_what_is_held_back_above_an_idle_disk_is_told_as_such() -> None:
    found = finding(lost({"8.5 s": 1}, "disk.flush"), FLUSH)
    assert found.headline == "sda (8:0) held requests back for up to 8.50 s, while its disks were idle"
    assert "dmsetup status" in found.remedies[0].text


def test_a_long_flush_of_much_data_is_none() -> None:
    assert "answer" not in finding(lost({"8.5 s": 1}, "disk.flush", busy_ns=9 * S), FLUSH).headline


@pytest.mark.parametrize("long", [{"900 ms": 3}, {"3.9 s": 80}])
def test_what_is_slow_again_and_again_is_none(long: dict[str, int]) -> None:
    builder = Builder(window="400 s").thread("db", cpu_user="1 s")
    builder.row("disk.read", "device:8:0", durations={"2 ms": 500} | long)
    builder.device("8:0", "read", count=503, service="3.9 s")
    model = knowing(builder.model(), disks=disks(disk("8:0", "sda", kind="physical")))
    assert not any("did not answer" in each.headline for each in findings(model, READ))


def test_a_queue_that_all_requests_stand_in_is_none() -> None:
    """A flood: the disk had served thousands meanwhile."""
    builder = Builder(window="60 s").thread("db", cpu_user="1 s")
    builder.row("disk.flush", "device:8:0", durations={"2 ms": 200, "1.8 s": 3})
    builder.device("8:0", "write", count=20_000, service="1 ms", queue="1.2 s")
    builder.device("8:0", "flush", count=203, service="1 ms")
    model = knowing(builder.model(), disks=disks(disk("8:0", "sda", activity=activity(busy_ns=50 * S))))
    assert not any("did not answer" in each.headline for each in findings(model, FLUSH))


def test_an_outage_stays_one_whatever_the_waits_are_part_of() -> None:
    builder = Builder(window="20 s").thread("db", cpu_user="1 s")
    builder.row("disk.read", "device:8:0", durations={"2 ms": 500, "3.9 s": 3})
    builder.device("8:0", "read", count=503, service="3.9 s")
    kernel = ["io_schedule", "ext4_bread", "ovl_copy_up_file", "ovl_setattr", "__x64_sys_chmod"]
    builder.stack("wait", "disk.read", object="device:8:0", kernel=kernel, count=50, weight="12 s")
    model = knowing(builder.model(), disks=disks(disk("8:0", "sda", activity=activity(reads=503, busy_ns=S))))
    assert "did not answer" in finding(model, READ).headline


@pytest.mark.parametrize(("operation", "service", "told"), [("other", "2 s", True), ("discard", "9 ms", False)])
def test_a_disk_that_is_busy_with_zeroes_answers(operation: str, service: str, told: bool) -> None:
    """A new file system's tables are zeroed at 4 MB/s: "the disk did not answer, look at its own log"."""
    builder = Builder(window="30 s").thread("db", cpu_user="1 s")
    builder.row("disk.flush", "device:8:0", durations={"2 ms": 73, "3.2 s": 8})
    builder.device("8:0", "flush", count=96, service="1 ms").device("8:0", "write", count=17, service="3.5 s")
    builder.device("8:0", operation, count=8, service=service, bytes=100 << 20)
    model = knowing(builder.model(), disks=disks(disk("8:0", "sda", activity=activity(busy_ns=29 * S))))
    found = finding(model, FLUSH)
    assert ("discards or zeroes" in found.headline) is told and ("did not answer" in found.headline) is not told
    assert not told or (found.confidence is Confidence.MEDIUM and "fstrim" in found.remedies[0].text)
