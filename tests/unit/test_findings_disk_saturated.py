"""DISK-QUEUEING, DISK-SATURATED, DISK-THROTTLED: why requests are slow although the disk is not."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity
from perfdiag.facts.host_facts import DiskActivity, IoGroup
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import activity, disk, disks
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.known import blank

QUEUEING, SATURATED, THROTTLED = "DISK-QUEUEING", "DISK-SATURATED", "DISK-THROTTLED"


def waiting(
    wait: str = "12 ms",
    count: int = 500,
    service: str = "1 ms",
    queue: str = "10 ms",
    account: str = "disk.read",
    requests: int | None = None,
    bytes: int | None = None,
) -> Builder:
    operation = {"disk.read": "read", "disk.flush": "flush"}.get(account, "write")
    builder = Builder().thread("db", cpu_user="1 s").row(account, "device:8:0", durations={wait: count})
    return builder.device(
        "8:0", operation, count=count if requests is None else requests, service=service, queue=queue, bytes=bytes
    )


def on(builder: Builder, rotational: bool = True, **known: Any) -> Model:
    return knowing(builder.model(), disks=disks(disk("8:0", "sda", kind="physical", rotational=rotational, **known)))


# DISK-QUEUEING


def test_a_queue_longer_than_the_service_is_named_with_its_part() -> None:
    found = finding(on(waiting()), QUEUEING)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert found.claims["disk.read", "device:8:0"] == pytest.approx(6e9 * 10 / 11, rel=1e-6)
    assert "in its queue" in found.claim


@pytest.mark.parametrize(
    ("service", "queue"), [("8 ms", "5 ms"), ("300 us", "800 us")], ids=["service is longer", "under a millisecond"]
)
def test_ordinary_queues_are_fine(service: str, queue: str) -> None:
    check(on(waiting(service=service, queue=queue)), QUEUEING)


def test_without_request_times_it_cannot_tell() -> None:
    assert "not measured" in silence(on(waiting().without("block")), QUEUEING).reason
    nothing = Builder().thread(cpu_user="1 s").row("disk.read", "device:8:0", durations={"12 ms": 500})
    assert "no request" in silence(on(nothing), QUEUEING).reason


def test_the_queue_of_others_is_not_the_targets() -> None:
    """Reads that the scheduler lets pass, while somebody else's writes stand in line."""
    builder = waiting("100 us", 30_000, service="60 us", queue="20 us").device(
        "8:0", "write", count=2_000, service="2 ms", queue="20 ms"
    )
    check(on(builder), QUEUEING)
    same = waiting("100 us", 30_000, service="1 ms", queue="5 ms", requests=60_000)
    assert check(on(same), QUEUEING)


def test_streams_queue_and_that_is_no_fault() -> None:
    assert finding(on(waiting(bytes=500 << 20)), QUEUEING).severity is Severity.INFO


def test_the_scheduler_is_tried_only_where_it_does_not_fit() -> None:
    first = finding(on(waiting(), rotational=False, scheduler="bfq"), QUEUEING).remedies[0]
    assert first.kind is RemedyKind.TRY
    assert first.text == "echo none > /sys/block/sda/queue/scheduler"
    assert first.undo == "echo bfq > /sys/block/sda/queue/scheduler"
    fitting = finding(on(waiting(), rotational=False, scheduler="none"), QUEUEING)
    assert all(remedy.kind is RemedyKind.FIX for remedy in fitting.remedies)


def test_the_queue_takes_its_part_and_leaves_the_disk_the_rest() -> None:
    diagnosis = diagnose(on(waiting(queue="6 ms", service="5 ms")))
    assert diagnosis.findings[0].id == QUEUEING
    assert 0.4 < diagnosis.findings[0].share < 0.55


# DISK-SATURATED


def full(**changes: int) -> DiskActivity:
    return activity(
        **(
            {
                "reads": 1500,
                "read_bytes": 1500 * 8192,
                "read_ns": 1500 * 45_000_000,
                "busy_ns": 9_950_000_000,
                "weighted_ns": 68_000_000_000,
            }
            | changes
        )
    )


def test_a_disk_that_never_rests_is_at_its_limit() -> None:
    found = finding(on(waiting("45 ms", 150), activity=full()), SATURATED)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "6.8 requests in flight" in found.claim and "150 requests" in found.evidence[0].text


@pytest.mark.parametrize(
    "counters",
    [
        full(busy_ns=8_000_000_000),
        full(weighted_ns=12_000_000_000),
        full(read_ns=1500 * 5_000_000),
    ],
    ids=["rests", "one at a time", "answers in good time"],
)
def test_a_busy_disk_is_not_yet_a_full_one(counters: DiskActivity) -> None:
    check(on(waiting("45 ms", 150), activity=counters), SATURATED)


def test_a_full_disk_that_the_target_does_not_feel() -> None:
    check(on(waiting("100 us", 30_000), activity=full()), SATURATED)


def test_a_disk_without_counters_cannot_be_judged() -> None:
    assert silence(on(waiting()), SATURATED)


def test_one_large_stream_is_meant_to_use_all_there_is() -> None:
    counters = full(read_bytes=1500 << 20)
    found = finding(on(waiting("45 ms", 150), activity=counters), SATURATED)
    assert found.severity is Severity.INFO


# DISK-THROTTLED


def group(**known: Any) -> IoGroup:
    usual: dict[str, Any] = dict(
        path="/sys/fs/cgroup/db",
        version=2,
        pids=(100,),
        inode=42,
        depth=1,
        limits={"8:0": {"wiops": 50}},
        counters={"8:0": {"wios": 500, "wbytes": 2_000_000}},
    )
    return blank(IoGroup, **(usual | known))


def held_back(builder: Builder | None = None, *groups: IoGroup, **facts: Any) -> Model:
    model = (builder or waiting("18 ms", 500, "100 us", "10 us", "disk.write")).model()
    return knowing(
        model,
        io_groups=groups or (group(),),
        disks=disks(disk("8:0", "sda"), disk("8:1", "sda1", whole="sda")),
        **facts,
    )


def test_a_limit_that_is_used_up_explains_waits_that_the_disk_does_not() -> None:
    found = finding(held_back(), THROTTLED)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "50" in found.claim
    assert found.claims["disk.write", "device:8:0"] > 0.95 * 9e9
    first = found.remedies[0]
    assert first.text == "echo '8:0 wiops=100' > /sys/fs/cgroup/db/io.max"
    assert first.undo == "echo '8:0 wiops=50' > /sys/fs/cgroup/db/io.max"


def test_it_supersedes_the_slow_disk_that_it_only_looks_like() -> None:
    diagnosis = diagnose(held_back())
    assert diagnosis.findings[0].id == THROTTLED
    assert "DISK-WRITE-SLOW" in {found.id for found in diagnosis.superseded}


def test_a_partition_is_held_back_by_the_limit_of_its_disk() -> None:
    builder = Builder().thread(cpu_user="1 s").row("disk.write", "device:8:1", durations={"18 ms": 500})
    assert finding(held_back(builder.device("8:0", "write", count=500, service="100 us")), THROTTLED)


def test_version_1_limits_have_files_of_their_own() -> None:
    old = group(version=1, path="/sys/fs/cgroup/blkio/db", limits={"8:0": {"wbps": 200_000}}, counters={})
    found = finding(held_back(None, old), THROTTLED)
    assert found.confidence is Confidence.MEDIUM and "not counted" in found.limits[0]
    assert found.remedies[0].text == ("echo '8:0 400000' > /sys/fs/cgroup/blkio/db/blkio.throttle.write_bps_device")
    assert found.remedies[0].undo.startswith("echo '8:0 200000'")


def test_without_counters_the_disks_own_requests_bound_the_use() -> None:
    """500 writes of 4 KiB in 10 s: 0.2 of 100 MB/s at most."""
    old = group(version=1, limits={"8:0": {"wbps": 100_000_000}}, counters={})
    assert 0 < check(held_back(None, old), THROTTLED).number < 0.01


@pytest.mark.parametrize(
    "one",
    [
        group(counters={"8:0": {"wios": 200, "wbytes": 0}}),
        group(limits={"8:0": {"riops": 50}}),
        group(limits={"8:16": {"wiops": 50}}),
        group(limits={}),
    ],
    ids=["not used up", "of reads", "of another disk", "none"],
)
def test_limits_that_hold_nothing_back(one: IoGroup) -> None:
    check(held_back(None, one), THROTTLED)


def test_a_limit_is_not_blamed_for_a_slow_disk() -> None:
    slow = waiting("18 ms", 500, "17 ms", "10 us", "disk.write")
    assert check(held_back(slow), THROTTLED)


def test_limits_that_could_not_be_read_are_no_proof() -> None:
    model = knowing(waiting("18 ms", 500, "100 us", "10 us", "disk.write").model(), io_groups=())
    assert silence(model, THROTTLED)


@pytest.mark.parametrize("id", [QUEUEING, SATURATED, THROTTLED])
def test_a_target_that_does_not_wait_for_disks(id: str) -> None:
    assert len(outcomes(Builder().thread(cpu_user="1 s").model(), id)) == 1
    check(Builder().thread(cpu_user="1 s").model(), id)
