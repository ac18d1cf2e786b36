"""A target whose class of I/O lets others go first."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Check, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import activity, disk, disks
from unit.support.judging import finding, knowing, outcomes

READ, QUEUEING, SATURATED = "DISK-READ-SLOW", "DISK-QUEUEING", "DISK-SATURATED"


def beside_a_backup(
    own: str | None = "idle",
    others: str | None = "best-effort",
    scheduler: str = "mq-deadline",
    queue: str = "30 ms",
    service: str = "3 ms",
) -> Model:
    """Reads of 200 ms on a disk that needs 3 ms for each, and works without a pause for a backup."""
    builder = (
        Builder(window="11 s").thread("db", cpu_user="100 ms").row("disk.read", "device:8:0", durations={"200 ms": 50})
    )
    builder.device("8:0", "read", count=3000, queue=queue, service=service)
    builder.disk_user("8:0", "db", read=200 << 10, io_class=own)
    builder.disk_user("8:0", "backup", read=300 << 20, pid=812, io_class=others)
    counted = activity(reads=3000, read_bytes=300 << 20, read_ns=60 * 10**9, busy_ns=11 * 10**9, weighted_ns=60 * 10**9)
    return knowing(builder.model(), disks=disks(disk("8:0", "sda", scheduler=scheduler, activity=counted)))


def test_who_comes_last_by_its_class_is_told_so_instead_of_a_full_disk() -> None:
    model = beside_a_backup()
    found = finding(model, QUEUEING)
    assert found.headline == "The target's I/O class is idle: at disk sda (8:0) backup (812) goes first"
    assert "ionice -c 2 -p $(ls /proc/100/task)" in found.remedies[0].text
    assert "-p 812" not in found.remedies[0].text and "best-effort" in found.claim
    assert found.severity is Severity.WARNING and sum(found.claims.values()) == model.ns("disk.read")
    assert all(isinstance(each, Check) for each in outcomes(model, SATURATED))


def test_without_a_queue_it_is_told_with_the_waits() -> None:
    found = finding(beside_a_backup(service="150 ms"), READ)
    assert found.headline == "The target's I/O class is idle: at the disk under sda (8:0) backup (812) goes first"


def test_real_time_requests_go_first_too() -> None:
    found = finding(beside_a_backup("best-effort", "real-time"), QUEUEING)
    assert "is best-effort" in found.headline and "ionice -c 2 -p 812" in found.remedies[0].text


@pytest.mark.parametrize(
    ("own", "others", "scheduler"),
    [
        ("idle", "best-effort", "none"),
        ("best-effort", "idle", "mq-deadline"),
        ("idle", "idle", "bfq"),
        ("idle", None, "bfq"),
        (None, "best-effort", "bfq"),
    ],
)
def test_where_nobody_goes_first_the_disk_is_full(own: str | None, others: str | None, scheduler: str) -> None:
    found = finding(beside_a_backup(own, others, scheduler), SATURATED)
    assert found.headline == "Disk sda is at its limit, mostly for backup (812)"
