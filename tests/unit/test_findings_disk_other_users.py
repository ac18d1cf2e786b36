"""Disks that others fill: how much of their work cannot have been the target's, and what is then said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.evidence.disk.backing_disks import backing
from perfdiag.diagnosis.evidence.disk.other_users import neighbours
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import activity, disk, disks
from unit.support.judging import check, finding, knowing

VMSTAT = "pswpin {}\npswpout {}\n"
FLUSH, SATURATED = "DISK-FLUSH-SLOW", "DISK-SATURATED"
MEMINFO = "Dirty:          {} kB\nWriteback:             0 kB\n"


def flooded(
    *,
    own_kib: int = 1000,
    disk_mib: int = 6000,
    dirty_kib: int = 90_000,
    requests: int = 9000,
    busy_ms: int = 5800,
    weighted_ms: int = 90_000,
    waits: int = 150,
    swapped_pages: int = 0,
) -> Builder:
    """A database whose flushes take 35 ms, on a disk that moved `disk_mib` meanwhile."""
    end = f" 254 0 vda 0 0 0 0 {requests} 0 {disk_mib * 2048} {requests * 30} 0 {busy_ms} {weighted_ms}\n"
    builder = Builder(window="6 s").fact("/proc/diskstats", " 254 0 vda 0 0 0 0 0 0 0 0 0 0 0\n", end)
    builder.fact("/proc/meminfo", MEMINFO.format(dirty_kib)).fact("/proc/100/status", "Name:\tdb\n")
    builder.fact("/proc/vmstat", VMSTAT.format(7, 9), VMSTAT.format(7 + swapped_pages // 2, 9 + swapped_pages // 2))
    builder.fact("/proc/100/io", "read_bytes: 0\nwrite_bytes: 0\n", f"read_bytes: 0\nwrite_bytes: {own_kib * 1024}\n")
    builder.thread("db", cpu_user="100 ms").row("disk.flush", "device:254:0", durations={"35 ms": waits})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=requests // 2, service="34 ms", queue="1 ms")
    return builder


def test_a_disk_that_others_fill_is_not_called_slow() -> None:
    found = finding(flooded().model(), FLUSH)
    assert (
        found.severity is Severity.WARNING
        and found.mechanism is Mechanism.BUSY
        and found.mechanism is not Mechanism.SLOW
    )
    assert "98 %" in found.claim and "5.86 GiB" in found.claim
    assert "pidstat -d" in found.remedies[0].text and "transaction" in found.remedies[1].text
    assert found.confidence is Confidence.MEDIUM and any("without that work" in limit for limit in found.limits)


@pytest.mark.parametrize(
    "known",
    [
        {"own_kib": 3_000_000},  # its own data
        {"own_kib": 1_600_000},  # its own data and the journal's copy
        {"dirty_kib": 4_000_000},  # perhaps its own data from before the window
        {"disk_mib": 15},  # its own small commits, each with a journal block
        {"requests": 200},  # as many requests as it waited for
        {"swapped_pages": 4000, "disk_mib": 50, "dirty_kib": 0},  # its own memory, swapped out and in
        {"swapped_pages": 4500},  # as many requests as pages were swapped
    ],
)
def test_work_that_may_be_the_targets_own_is_no_neighbours(known: dict[str, int]) -> None:
    found = finding(flooded(**known).model(), FLUSH)
    assert found.mechanism is Mechanism.SLOW and "pidstat" not in found.remedies[0].text
    assert any("other processes" in text for text in found.alternatives)


def test_a_few_pages_swapped_are_no_doubt() -> None:
    assert finding(flooded(swapped_pages=400).model(), FLUSH).mechanism is Mechanism.BUSY


def striped(level: str, name: str = "md0", own_kib: int = 1000) -> Model:
    """An array of four disks, each of which moved 1500 MiB."""
    members, known = [f"8:{16 * number}" for number in range(4)], activity(writes=9000, written_bytes=1500 << 20)
    model = flooded(waits=20, own_kib=own_kib).model()
    model.facts.__dict__["disks"] = disks(
        *(disk(each, f"sd{each}", activity=known) for each in members),
        disk("9:0", name, kind="stacked", label=level, members=tuple(members)),
    )
    return model


@pytest.mark.parametrize(
    ("level", "name", "theirs"),
    [
        ("raid0", "md0", True),
        ("linear", "md0", True),
        ("raid6", "md0", False),  # a small write of the target's moves six blocks
        ("raid1", "md0", False),
        ("raid0", "dm-3", False),  # what its owner calls it says nothing
    ],
)
def test_an_array_moves_more_than_it_was_asked_for(level: str, name: str, theirs: bool) -> None:
    model = striped(level, name)
    rows = model.rows_of("disk.flush")
    moved = [neighbours(model, backing(model, device), rows) for device in ("9:0", "8:16")]  # the array, a disk of it
    assert [each and each.bytes for each in moved] == ([6000 << 20, 1500 << 20] if theirs else [None, None])


def test_what_one_process_of_the_target_wrote_is_not_known() -> None:
    found = finding(flooded().thread("worker", pid=101).model(), FLUSH)
    assert found.mechanism is Mechanism.SLOW
    ended = finding(flooded().exited("worker", disk_flush="1 ms").model(), FLUSH)
    assert ended.mechanism is Mechanism.SLOW
    threads_only = finding(flooded().exited("worker", processes=0, disk_flush="1 ms").model(), FLUSH)
    assert threads_only.mechanism is Mechanism.BUSY


def test_counters_that_were_not_read_say_nothing_of_others() -> None:
    for path in ("/proc/meminfo", "/proc/vmstat"):
        builder = flooded()
        builder._lines = [line for line in builder._lines if getattr(line, "path", "") != path]
        assert finding(builder.model(), FLUSH).mechanism is Mechanism.SLOW


def test_waits_above_a_disk_that_others_fill_name_them_too() -> None:
    builder = flooded(waits=80)
    builder._lines = [line for line in builder._lines if not hasattr(line, "service_ns")]
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=4500, service="500 us", queue="100 us")
    found = finding(builder.model(), FLUSH)
    assert "98 %" in found.claim and "pidstat" in found.remedies[0].text


def test_large_requests_of_others_are_as_fast_as_they_can_be_and_still_in_the_way() -> None:
    builder = flooded()
    builder._lines = [line for line in builder._lines if not hasattr(line, "service_ns")]
    builder.device("254:0", "write", count=9000, service="25 ms", queue="1 ms", bytes=18_000 << 20)
    found = finding(builder.model(), FLUSH)
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.BUSY and "waits of 35 ms" in found.claim
    own = flooded(own_kib=5_000_000)
    own._lines = [line for line in own._lines if not hasattr(line, "service_ns")]
    own.device("254:0", "write", count=9000, service="25 ms", queue="1 ms", bytes=18_000 << 20)
    assert finding(own.model(), FLUSH).severity is Severity.INFO


def test_a_queue_of_others_requests_names_them_first() -> None:
    builder = flooded()
    builder._lines = [line for line in builder._lines if not hasattr(line, "service_ns")]
    builder.device("254:0", "write", count=9000, service="5 ms", queue="30 ms", bytes=6000 << 20)
    found = finding(builder.model(), "DISK-QUEUEING")
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.BUSY
    assert "pidstat" in found.remedies[0].text and not any("iotop, or perfdiag" in each.text for each in found.remedies)


def test_a_full_disk_is_a_fault_of_its_own_streams_only_when_others_stream() -> None:
    found = finding(flooded(busy_ms=5990).model(), SATURATED)
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.BUSY
    assert "pidstat" in found.remedies[0].text
    own = finding(flooded(busy_ms=5990, own_kib=5_000_000).model(), SATURATED)
    assert own.severity is Severity.INFO and "target's" not in own.claim
    assert check(flooded(busy_ms=3000).model(), SATURATED).number < 0.95


def used(builder: Builder) -> Builder:
    """The same with who asked the disk: the target for nearly nothing, dumps for most, kernel threads for some."""
    builder.disk_user("254:0", "db", written=1 << 20)
    builder.disk_user("254:0", "dump", written=3000 << 20, pid=812).disk_user("254:0", "dump", read=900 << 20, pid=811)
    return builder.disk_user("254:0", "jbd2/vda-8", written=2000 << 20, pid=90, kernel=True)


def test_who_fills_the_disk_is_named() -> None:
    found = finding(used(flooded()).model(), FLUSH)
    assert found.headline == "dump (812 and 1 more) keep the disk under vda (254:0) busy"
    assert [(each.pid, each.comm) for each in found.others] == [(812, "dump"), (90, "jbd2/vda-8")]
    assert "run dump (812 and 1 more) at another time" in found.remedies[0].text
    assert "dump (812 and 1 more) 3.81 GiB, jbd2/vda-8 (90) 1.95 GiB" in found.claim


def test_whose_work_kernel_threads_do_is_bounded_by_what_the_target_can_have_asked_for() -> None:
    """Of a target that has dirtied nothing, kernel workers write somebody else's pages."""
    builder = flooded().disk_user("254:0", "db", written=1 << 20)
    for number in range(3):
        builder.disk_user("254:0", f"kworker/{number}:1", written=2000 << 20, pid=90 + number, kernel=True)
    found = finding(builder.model(), FLUSH)
    assert found.headline == "kernel workers (kworker) keep the disk under vda (254:0) busy"
    assert "write back" in found.remedies[0].text
    own = flooded(own_kib=6_000_000).disk_user("254:0", "db", written=1 << 20)
    own.disk_user("254:0", "kworker/1:1", written=6000 << 20, pid=90, kernel=True)
    assert finding(own.model(), FLUSH).mechanism is Mechanism.SLOW


def test_a_kernel_thread_that_works_for_nobody_is_named_before_a_disk_that_does_not_answer() -> None:
    """A target that is gone has no counters, so that all that kernel threads did may have been for it, but not this."""
    builder = Builder(window="30 s").thread("db", cpu_user="1 s")
    builder.row("disk.flush", "device:254:0", durations={"2 ms": 73, "3.2 s": 8})
    builder.device("254:0", "flush", count=96, service="1 ms").device("254:0", "write", count=100, service="3.5 s")
    builder.disk_user("254:0", "db", written=320 << 10)
    builder.disk_user("254:0", "jbd2/vda-8", written=1 << 20, pid=90, kernel=True)
    builder.disk_user("254:0", "ext4lazyinit", written=100 << 20, pid=91, kernel=True)
    counted = activity(reads=2, writes=300, written_bytes=101 << 20, busy_ns=29_000_000_000)
    found = finding(knowing(builder.model(), disks=disks(disk("254:0", "vda", activity=counted))), FLUSH)
    assert found.headline == "ext4lazyinit (91) keeps the disk under vda (254:0) busy"
    assert "noinit_itable" in found.remedies[0].text and "jbd2" not in found.claim


def test_a_check_of_an_array_is_named_although_arrays_move_more_than_they_were_asked_for() -> None:
    model = striped("raid6", own_kib=1_000_000)
    rows = model.rows_of("disk.flush")
    assert neighbours(model, backing(model, "9:0"), rows) is None
    lines = Builder().disk_user("9:0", "db", written=5 << 20)
    for member in range(4):
        lines.disk_user(f"8:{16 * member}", "md0_resync", read=1500 << 20, pid=77, kernel=True)
    model = replace(model, disk_users=lines.model().disk_users)
    found = neighbours(model, backing(model, "9:0"), rows)
    assert found is not None and found.who == "md0_resync (77)" and "checks or rebuilds" in found.remedy.text
    asked = Builder().disk_user("9:0", "db", written=1000 << 20)  # six blocks for one are most of what the disks moved
    checked = [line for line in model.disk_users if line.kernel_thread]
    model = replace(model, disk_users=[*asked.model().disk_users, *checked])
    assert neighbours(model, backing(model, "9:0"), rows) is None


def test_without_all_who_used_the_disk_nobody_is_named() -> None:
    found = finding(used(flooded()).lost(disk_users_full=9).model(), FLUSH)
    assert found.mechanism is Mechanism.BUSY and not found.others and "pidstat" in found.remedies[0].text


def copied(*, others: int = 0) -> Model:
    """Writes of 10 MiB to a volume whose snapshot has kernel workers copy each piece first."""
    builder = Builder().thread("db", cpu_user="1 s").row("disk.write", "device:253:2", durations={"6 ms": 600})
    builder.device("8:0", "write", count=2000, service="1 ms").disk_user("253:2", "db", written=10 << 20)
    builder.disk_user("8:0", "kworker/0:1", read=12 << 20, written=25 << 20, pid=90, kernel=True)
    if others:
        builder.disk_user("8:0", "dump", written=others, pid=812)
    volume = disk("253:2", "dm-2", kind="stacked", members=("8:0",))
    return knowing(builder.model(), disks=disks(volume, disk("8:0", "sda")))


def test_a_volume_that_moves_more_than_it_is_asked_for() -> None:
    found = finding(copied(), "DISK-WRITE-SLOW")
    assert found.headline == "The disks below dm-2 (253:2) move 3.7 times as many bytes as they are asked for"
    assert "snapshot" in found.remedies[0].text and found.mechanism is Mechanism.MANY
    assert found.claims["disk.write", "device:253:2"] == pytest.approx(3.6e9 * (1 - 10 / 37), rel=0.02)


def test_what_others_asked_the_same_disk_for_is_no_amplification() -> None:
    assert "times as many" not in finding(copied(others=4 << 20), "DISK-WRITE-SLOW").headline


def test_a_check_of_an_array_is_no_amplification() -> None:
    """The remedy was to remove a snapshot that did not exist."""
    builder = Builder().thread("db", cpu_user="1 s").row("disk.write", "device:9:0", durations={"6 ms": 600})
    builder.device("8:0", "write", count=2000, service="1 ms").disk_user("9:0", "db", written=10 << 20)
    builder.disk_user("8:0", "md0_resync", read=2000 << 20, pid=90, kernel=True)
    model = knowing(builder.model(), disks=disks(disk("9:0", "md0", members=("8:0",)), disk("8:0", "sda")))
    assert "times as many" not in finding(model, "DISK-WRITE-SLOW").headline


def test_children_of_the_target_that_have_ended_are_not_accused() -> None:
    """Their pids are not known: a script's own cp was named as the other process that keeps the disk busy."""
    ended = finding(used(flooded()).exited("cp", disk_flush="1 ms").model(), FLUSH)
    assert ended.mechanism is Mechanism.SLOW and not ended.others


def test_who_is_seen_alone_on_a_member_did_not_all_the_work() -> None:
    """RAID 0 hands on the bios it was given, so that of 6 GiB on its disks only what smartd read is seen there."""
    model = striped("raid0", own_kib=6_200_000)
    lines = Builder().disk_user("9:0", "db", written=6000 << 20).disk_user("8:0", "smartd", read=1 << 20, pid=700)
    model = replace(model, disk_users=lines.model().disk_users)
    assert neighbours(model, backing(model, "9:0"), model.rows_of("disk.flush")) is None


def test_who_asked_in_an_interrupt_has_no_name() -> None:
    builder = flooded().disk_user("254:0", "db", written=1 << 20).disk_user("254:0", "", written=5900 << 20, pid=0)
    found = finding(builder.model(), FLUSH)
    assert "(no name) keep" not in found.headline and all(each.pid for each in found.others)
    assert not any("/proc/0/" in each.text for each in found.remedies)
