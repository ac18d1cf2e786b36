"""DISK-FLUSH-SLOW, DISK-READ-SLOW, DISK-WRITE-SLOW: the device, something above it, or just the number of waits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.disk.backing_disks import backing, requests_of
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.facts.host_facts import Disk, Mount
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import check, finding, findings, knowing, silence
from unit.support.known import blank

SSD = disk("254:0", "nvme0n1", kind="physical", rotational=False)
VIRTUAL = disk("254:0", "vda", kind="paravirtual", rotational=True)
RULES = {"disk.flush": "DISK-FLUSH-SLOW", "disk.read": "DISK-READ-SLOW", "disk.write": "DISK-WRITE-SLOW"}


def waiting(
    account: str = "disk.flush",
    wait: str = "20 ms",
    count: int = 300,
    device: str = "device:254:0",
    service: str | None = "100 us",
    queue: str = "10 us",
) -> Builder:
    """A thread that waits `count` times; its disk's requests take `service` each."""
    builder = Builder().thread("db", cpu_user="1 s").row(account, device, durations={wait: count})
    if service:
        for operation in {"disk.flush": ("write", "flush"), "disk.read": ("read",)}.get(account, ("write",)):
            builder.device("254:0", operation, count=count, service=service, queue=queue)
    return builder


def on(disk: Disk, builder: Builder) -> Model:
    return knowing(builder.model(), disks=disks(disk))


@pytest.mark.parametrize("account", RULES)
def test_a_slow_device_is_a_fault(account: str) -> None:
    found = finding(on(SSD, waiting(account, service="18 ms")), RULES[account])
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert found.mechanism is Mechanism.SLOW and found.claims[account, "device:254:0"] == 6_000_000_000


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "at flushes"),
        ([("file:254:0:12:counts.db-wal", "5 s")], "at flushes of counts.db-wal"),
        ([("file:254:0:12:a", "1 s"), ("file:254:0:13:b", "3 s")], "at flushes of b and a"),
        ([(f"file:254:0:{n}:{n}", "1 s") for n in range(1, 4)], "at flushes of 1, 2 and 1 more"),
        ([("file:8:0:12:elsewhere", "5 s"), ("file:254:0:13:b:c", "1 s")], "at flushes of b:c"),
    ],
)
def test_the_files_are_named_that_are_flushed(files: list[tuple[str, str]], said: str) -> None:
    """Of a server with several databases on a disk the report said only that it flushes."""
    builder = waiting(service="18 ms")
    for file, waited in files:
        builder.file_flush(file, 100, waited)
    found = finding(on(SSD, builder), "DISK-FLUSH-SLOW")
    assert found.headline.endswith(said), found.headline


def test_a_queue_longer_than_any_wait_is_that_of_other_processes() -> None:
    """A report said 180 ms in the queue beside waits of 72 us."""
    found = finding(on(SSD, waiting("disk.flush", "72 us", 20_000, queue="180 ms")), "DISK-FLUSH-SLOW")
    queued = [each.text for each in found.evidence if "in the queue" in each.text]
    assert queued and all("other processes" in text for text in queued)
    alone = finding(on(SSD, waiting("disk.flush", "20 ms", service="18 ms")), "DISK-FLUSH-SLOW")
    assert not any("other processes" in each.text for each in alone.evidence)


@pytest.mark.parametrize("account", RULES)
def test_as_fast_as_the_device_is_profile(account: str) -> None:
    found = finding(on(SSD, waiting(account, "150 us", 20_000)), RULES[account])
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.MANY


def test_only_a_disk_whose_requests_are_all_fast_is_called_fast() -> None:
    """Short waits, or those above it, prove nothing: a report called a disk fast beside 1.5 s in the device."""
    fast = finding(on(SSD, waiting("disk.write", "150 us", 20_000)), "DISK-WRITE-SLOW")
    assert fast.headline.endswith("usual for this disk")
    others = waiting("disk.write", "150 us", 20_000).device("254:0", "write", count=900, service="1500 ms")
    unseen = waiting("disk.write", "150 us", 20_000, service=None)
    for builder in (others, unseen):
        assert "usual" not in finding(on(SSD, builder), "DISK-WRITE-SLOW").headline


def test_the_mean_of_the_waits_is_said_and_where_half_of_their_time_lies() -> None:
    """Most of 7,000 fsyncs are quick, the slow ones take the time: no sentence multiplies them with each other."""
    builder = waiting("disk.flush", "3 ms", 500, service="1 ms")
    builder.row("disk.flush", "device:254:0", durations={"100 us": 7_500})
    claim = finding(on(SSD, builder), "DISK-FLUSH-SLOW").claim
    assert "8,000" in claim and "281 us" in claim and "3 ms" in claim


@pytest.mark.parametrize("account", RULES)
def test_waits_whose_rows_are_missing_are_not_fine(account: str) -> None:
    """A recording that was cut off before its details."""
    cut = replace(on(SSD, waiting(account)), rows=[])
    for id in (RULES[account], "DISK-ERRORS", "DISK-SATURATED", "DISK-QUEUEING", "DISK-MEMBER-SLOW", "DISK-THROTTLED"):
        assert "unknown what" in silence(cut, id).reason, id


@pytest.mark.parametrize("account", RULES)
def test_waits_on_a_device_that_is_not_known_are_no_fault_unless_no_device_may_take_so_long(account: str) -> None:
    model = on(SSD, waiting(account, "35 ms", 2, device="", service=None))
    assert silence(model, RULES[account])
    found = finding(on(SSD, waiting(account, "35 ms", 200, device="", service=None)), RULES[account])
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.OTHERS
    worse = finding(on(SSD, waiting(account, "50 ms", 150, device="", service=None)), RULES[account])
    assert worse.severity is Severity.WARNING


@pytest.mark.parametrize("account", RULES)
def test_a_tenth_of_the_time_at_the_devices_own_pace_is_fine(account: str) -> None:
    model = on(SSD, waiting(account, "150 us", 500))
    assert 0.02 < check(model, RULES[account]).number < 0.1


@pytest.mark.parametrize("account", RULES)
def test_waits_that_the_device_does_not_explain_are_lost_above_it(account: str) -> None:
    found = finding(on(SSD, waiting(account, "20 ms", service="100 us")), RULES[account])
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.ABOVE
    assert (
        found.name.endswith("-HELD-UP")
        and finding(on(SSD, waiting(account, service="18 ms")), found.id).name == found.id
    )
    claimed = found.claims[account, "device:254:0"]
    assert 0.9 * 6e9 < claimed < 6e9  # all but what the requests take anyway


def test_a_flush_may_wait_for_two_commits() -> None:
    """3 writes and 2 cache flushes each, twice: 2 ms of 220 us requests are a chain, 20 ms are not."""
    chained = waiting("disk.flush", "2 ms", 2_000, service=None)
    for operation, count in (("write", 12_000), ("flush", 8_000)):
        chained.device("254:0", operation, count=count, service="220 us")
    assert finding(on(SSD, chained), "DISK-FLUSH-SLOW").severity is Severity.INFO
    assert (
        finding(on(SSD, waiting("disk.read", "2 ms", 2_000, service="220 us")), "DISK-READ-SLOW").mechanism
        is Mechanism.ABOVE
    )


def test_more_waiting_than_all_requests_took_is_lost_above_the_device() -> None:
    """8 ms a flush of a layer above, and slow outliers that a chain of could take as long: 0.3 s of requests in all."""
    builder = waiting("disk.flush", "8 ms", 100, service=None)
    builder.device("254:0", "write", count=100, service="3 ms")
    found = finding(on(SSD, builder), "DISK-FLUSH-SLOW")
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.ABOVE
    assert found.claims["disk.flush", "device:254:0"] == pytest.approx(0.5e9, rel=0.03)


def test_many_who_wait_for_the_same_requests_do_not_blame_what_lies_above() -> None:
    """Group commit: five threads wait for the same six requests of 1 ms, each time."""
    builder = waiting("disk.flush", "6 ms", 100, service=None)
    for _ in range(4):
        builder.thread("db").row("disk.flush", "device:254:0", durations={"6 ms": 100})
    builder.device("254:0", "write", count=600, service="1 ms")
    assert finding(on(SSD, builder), "DISK-FLUSH-SLOW").severity is Severity.INFO
    alone = waiting("disk.flush", "6 ms", 500, service=None).device("254:0", "write", count=600, service="1 ms")
    assert finding(on(SSD, alone), "DISK-FLUSH-SLOW").severity is Severity.WARNING


def test_a_disk_that_turns_may_take_longer() -> None:
    model = waiting("disk.read", "9 ms", service="9 ms")
    turning = disk("254:0", "sda", kind="physical", rotational=True)
    assert finding(on(turning, model), "DISK-READ-SLOW").severity is Severity.INFO
    assert finding(on(SSD, model), "DISK-READ-SLOW").severity is Severity.WARNING


def test_a_virtual_disk_that_calls_itself_rotational_is_not_believed() -> None:
    assert backing(on(VIRTUAL, waiting()), "254:0").medium == "unknown"
    assert finding(on(VIRTUAL, waiting(service="18 ms")), "DISK-FLUSH-SLOW").severity is Severity.WARNING


def test_large_requests_may_take_as_long_as_their_bytes() -> None:
    """A MiB at 100 MB/s is 10 ms: a stream on flash is no slow flash."""
    builder = Builder().thread(cpu_user="1 s").row("disk.read", "device:254:0", durations={"7 ms": 400})
    builder.device("254:0", "read", count=400, service="7 ms", bytes=400 << 20)
    assert finding(on(SSD, builder), "DISK-READ-SLOW").severity is Severity.INFO


def test_without_the_devices_times_only_twice_the_norm_is_surely_slow() -> None:
    found = finding(on(SSD, waiting(wait="15 ms", service=None).without("block")), "DISK-FLUSH-SLOW")
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert "the device's own times were not measured" in found.limits
    near = finding(on(SSD, waiting(wait="5 ms", service=None).without("block")), "DISK-FLUSH-SLOW")
    assert near.severity is Severity.INFO and near.confidence is Confidence.MEDIUM


def test_requests_that_were_never_seen_are_said() -> None:
    found = finding(on(SSD, waiting(service=None)), "DISK-FLUSH-SLOW")
    assert not any("table of devices full" in limit for limit in found.limits)


def test_requests_that_found_the_table_full_are_said() -> None:
    found = finding(on(SSD, waiting(service=None).lost(devices_full=7)), "DISK-FLUSH-SLOW")
    assert found.confidence is Confidence.MEDIUM


def test_lost_records_lower_the_confidence() -> None:
    model = on(SSD, waiting(service="18 ms").lost(storage_failed=400))
    assert finding(model, "DISK-FLUSH-SLOW").confidence is Confidence.MEDIUM


def test_slow_requests_of_others_are_not_the_targets() -> None:
    """Flushes of 100 us beside somebody's large writes of 15 ms."""
    builder = waiting("disk.flush", "100 us", 30_000, service="60 us").device(
        "254:0", "write", count=60_000, service="15 ms"
    )
    assert finding(on(SSD, builder), "DISK-FLUSH-SLOW").severity is Severity.INFO


def test_each_device_has_its_own_finding() -> None:
    builder = waiting(service="18 ms").row("disk.flush", "device:8:0", durations={"30 ms": 50})
    builder.device("8:0", "flush", count=50, service="30 ms")
    assert len(findings(on(SSD, builder), "DISK-FLUSH-SLOW")) == 2


def test_a_target_that_never_waits_for_disks_is_fine() -> None:
    assert check(Builder().thread(cpu_user="1 s").model(), "DISK-READ-SLOW").number == 0


# From a device to its disks


def test_partitions_arrays_and_volumes_lead_to_their_disks() -> None:
    known = disks(
        disk("8:0", "sda", kind="physical", rotational=True),
        disk("8:1", "sda1", whole="sda"),
        disk("8:16", "sdb", kind="physical", rotational=True),
        disk("8:17", "sdb1", whole="sdb"),
        disk("9:0", "md0", kind="stacked", members=("8:1", "8:17")),
        disk("253:0", "dm-0", kind="stacked", members=("9:0",), label="vg-data"),
    )
    model = knowing(Builder().thread().model(), disks=known)
    where = backing(model, "253:0")
    assert where.disks == ("8:0", "8:16") and where.medium == "rotational"


def test_a_file_system_with_a_number_of_its_own_is_found_by_its_source() -> None:
    """btrfs."""
    known = disks(disk("254:0", "vda"), disk("254:2", "vda2", whole="vda"))
    model = knowing(Builder().thread().model(), disks=known)
    mount = blank(
        Mount, device="0:45", source="/dev/vda2", fstype="btrfs", mountpoint="/", root="/", options=frozenset()
    )
    model.facts.__dict__["mount_of"] = {"0:45": mount}.get
    assert backing(model, "0:45").disks == ("254:0",)


def test_damaged_facts_that_go_in_circles_end() -> None:
    known = disks(disk("253:0", "dm-0", members=("253:1",)), disk("253:1", "dm-1", members=("253:0", "253:1")))
    assert backing(knowing(Builder().thread().model(), disks=known), "253:0").disks


def test_a_device_nothing_is_known_of_stands_for_itself() -> None:
    where = backing(Builder().thread().model(), "254:0")
    assert where.disks == ("254:0",) and where.medium == "unknown"


def test_the_whole_diagnosis_of_a_slow_flush_counts_it_once() -> None:
    diagnosis = diagnose(on(SSD, waiting(service="18 ms")))
    assert diagnosis.findings[0].id == "DISK-FLUSH-SLOW"
    assert sum(found.claimed_ns for found in diagnosis.findings) + diagnosis.unclaimed_ns == 7_000_000_000


def test_the_mean_is_that_of_the_requests_that_were_timed() -> None:
    line = schema.Device("254:0", "flush", 94, 0, 0, 51_000, 51 * 50_000_000, 50_001_000, [(2, 51)], [(18, 51)])
    assert requests_of([line]).mean_ns == 50_001_000


def test_files_read_page_by_page_since_read_ahead_is_off() -> None:
    """4,095 reads of 4 KiB for one file: "the disk is fast", nothing abnormal."""
    builder = Builder().thread(cpu_user="1 s").row("disk.read", "device:8:0", durations={"1.5 ms": 4000})
    builder.device("8:0", "read", count=4000, service="1 ms", bytes=4000 << 12)
    builder.file_read("file:8:0:12:table", 4000 << 12, size_bytes=4000 << 12, waits=4000, waited="6 s")
    known = disk("8:0", "sda", rotational=True, read_ahead_bytes=0)
    found = finding(knowing(builder.model(), disks=disks(known)), "DISK-READ-SLOW")
    assert found.severity is Severity.WARNING and found.headline.endswith("with read-ahead off")
    raised = found.remedies[0]
    assert (raised.text, raised.undo) == tuple(f"echo {kib} > /sys/block/sda/queue/read_ahead_kb" for kib in (128, 0))
    usual = knowing(builder.model(), disks=disks(disk("8:0", "sda", rotational=True, read_ahead_bytes=131_072)))
    assert "read-ahead" not in finding(usual, "DISK-READ-SLOW").headline


def test_who_reads_here_and_there_needs_no_read_ahead() -> None:
    builder = Builder().thread(cpu_user="1 s").row("disk.read", "device:8:0", durations={"1.5 ms": 4000})
    builder.device("8:0", "read", count=4000, service="1 ms", bytes=4000 << 12)
    builder.file_read("file:8:0:12:table", 4000 << 12, size_bytes=1 << 34, waits=4000, waited="6 s")
    known = disk("8:0", "sda", rotational=True, read_ahead_bytes=0)
    found = finding(knowing(builder.model(), disks=disks(known)), "DISK-READ-SLOW")
    assert found.severity is Severity.INFO and "read-ahead" not in found.headline


def test_flushes_that_are_part_of_larger_work_are_told_with_that() -> None:
    """The first chmod() of a file copied it up, and the report advised to flush less often."""
    builder = Builder().thread(cpu_user="1 s").row("disk.flush", "syscall:chmod", durations={"54 ms": 50})
    kernel = ["jbd2_log_wait_commit", "ext4_sync_file", "ovl_copy_up_file", "ovl_setattr", "__x64_sys_chmod"]
    builder.stack("wait", "disk.flush", object="syscall:chmod", kernel=kernel, count=50, weight="2700 ms")
    found = finding(builder.model(), "DISK-FLUSH-SLOW")
    assert found.headline == "Threads wait for flushes, which are part of copying whole files up in overlayfs"
    assert "metacopy=on" in found.remedies[0].text and len(found.remedies) > 1


def test_a_disk_that_is_slow_is_told_before_what_its_flushes_are_part_of() -> None:
    builder = waiting(service="100 ms", wait="100 ms", count=50)
    kernel = ["jbd2_log_wait_commit", "ext4_sync_file", "ovl_copy_up_file", "ovl_setattr", "__x64_sys_chmod"]
    builder.stack("wait", "disk.flush", object="device:254:0", kernel=kernel, count=50, weight="5 s")
    found = finding(on(SSD, builder), "DISK-FLUSH-SLOW")
    assert "is slow at flushes; these are part of copying whole files up" in found.headline


def test_many_small_reads_of_one_file_name_it_and_their_size() -> None:
    """1,536 reads of 4 KiB read as much as 112 of 55 KiB; both "add up"."""
    builder = Builder().thread("reader", cpu_user="100 ms").row("disk.read", "device:8:0", durations={"400 us": 1536})
    builder.device("8:0", "read", count=1536, service="400 us")
    builder.file_read("file:8:0:12:table.sst", 1536 * 4096, size_bytes=48_000_000, waits=1536, waited="600 ms")
    builder.file_read("file:8:0:13:index", 4096, size_bytes=4096, waits=1, waited="1 ms")
    found = finding(builder.model(), "DISK-READ-SLOW")
    assert found.headline.startswith("1,536 reads of table.sst (4.00 KiB each) on "), found.headline
    builder.file_read("file:8:0:14:other", 4096, size_bytes=4096, waits=1000, waited="590 ms")
    builder.file_read("file:8:0:15:third", 4096, size_bytes=4096, waits=1000, waited="590 ms")
    assert "each, on" not in finding(builder.model(), "DISK-READ-SLOW").headline
