"""Flushes and reads on disks of known slowness, with real file systems on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.recording import schema

from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.host import SlowDisk, overlay, run, slow_disk, try_run
from live.support.recording import Recording, count_of, ns_of, table
from live.support.snippets import recorded_snippet
from live.support.truth import assert_mostly, assert_waited

FLUSH_US = 20_000
READ_US = 2_000
READ_AT_ONCE_BYTES = 1 << 20  # more than one request may have begun before the window
FILE_SYSTEMS = [
    pytest.param(name, marks=pytest.mark.may_skip(f"{name} in the kernel")) for name in ("ext4", "xfs", "btrfs")
]


@pytest.mark.parametrize("kind", FILE_SYSTEMS)
def test_a_slow_disk(kind: str, tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """One slow disk, all ways to flush and to read, on a journaled ext4, XFS and btrfs."""
    speed = {"read_us": READ_US, "write_us": 300, "flush_us": FLUSH_US}
    disk = cleanup.enter_context(slow_disk(tmp_path, kind, **speed, fill={"read.data": 32}))
    for mode in ("fdatasync", "fsync", "O_SYNC"):
        flush = start("flush", "--mode", mode, "--count", 23, "--file", disk.mountpoint / mode)
        recording, truth = record(flush)
        check_flush(disk, kind, recording, truth)
        (file,) = [each for each in recording.of(schema.FileFlush) if each.object.endswith(f":{mode}")]
        assert file.waits >= truth["count"] and file.sum_ns >= 0.9 * truth["flush_ns"], (file, truth)
    for mode in ("direct", "buffered", "write"):
        read = start("read", "--mode", mode, "--count", 31, "--file", disk.mountpoint / "read.data")
        check_read(disk, *record(read))


def check_flush(disk: SlowDisk, kind: str, recording: Recording, truth: dict[str, int]) -> None:
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["flush_ns"], "disk.flush")
    assert_mostly(thread, "disk.flush")
    assert count_of(thread, "disk.flush") >= truth["count"], table(thread)
    flushed_ns = sum(row.sum_ns for row in recording.details("disk.flush", disk.device))
    if kind != "btrfs":  # whose files are on a device of their own making, with no driver
        assert flushed_ns >= 0.95 * ns_of(thread, "disk.flush"), recording.details("disk.flush")
    devices = {row.operation: row for row in recording.of(schema.Device) if f"device:{row.device}" == disk.device}
    assert devices["write"].count >= truth["count"], devices
    assert max(row.max_ns for row in devices.values()) >= FLUSH_US * 1000, devices


def check_read(disk: SlowDisk, recording: Recording, truth: dict[str, int]) -> None:
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["read_ns"], "disk.read")
    assert_mostly(thread, "disk.read")
    assert truth["read_ns"] >= truth["count"] * READ_US * 1000, "the disk was not slow: nothing was tested"
    devices = {row.operation: row for row in recording.of(schema.Device) if f"device:{row.device}" == disk.device}
    reads = devices["read"]
    assert reads.count >= 0.9 * truth["count"] and not reads.errors, reads
    assert reads.queue_ns + reads.service_ns >= reads.count * READ_US * 950, reads
    users = [row for row in recording.of(schema.DiskUser) if f"device:{row.device}" == disk.device]
    assert sum(row.read_bytes for row in users) >= reads.bytes - READ_AT_ONCE_BYTES, (users, reads)  # one had begun
    (own,) = [row for row in users if row.pid == truth["pid"]]
    assert (own.comm, own.kernel_thread) == ("read", False) and own.read_bytes >= 0.9 * reads.bytes, (own, reads)


def test_a_flush_is_an_operation(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """A system call that blocked: its number, its time and the exact ledger of that time; the slow ones apart."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", flush_us=FLUSH_US))
    flush = start("flush", "--count", 23, "--file", disk.mountpoint / "data")
    recording, truth = record(flush, slo_ns=5_000_000)
    (call,) = [row for row in recording.of(schema.Operation) if "fdatasync" in row.name]
    assert (call.count, call.errors, call.over_slo) == (23, 0, 23), call
    # It begins with its first wait: what a slow CPU takes until then is in the workload's time alone.
    assert call.sum_ns <= 1.05 * truth["flush_ns"], (call, truth)
    around_ns = ns_of(recording.thread(truth["pid"]), "cpu.", "runq.")
    assert call.sum_ns + around_ns >= 0.95 * truth["flush_ns"], (call, truth)
    assert max(call.accounts, key=lambda total: total.sum_ns).account == "disk.flush", call
    assert sum(total.sum_ns for total in call.over_slo_accounts) >= 0.95 * call.sum_ns, call


@pytest.mark.may_skip("overlayfs in the kernel")
def test_other_ways_to_flush(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """What has no fsync in its name, and fsync through overlayfs."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", write_us=5000, flush_us=FLUSH_US))
    merged = cleanup.enter_context(overlay(tmp_path, disk.mountpoint))
    for mode, path in (
        ("msync", disk.mountpoint / "msync"),
        ("sync_file_range", disk.mountpoint / "range"),
        ("fdatasync", merged / "overlay"),
    ):
        recording, truth = record(start("flush", "--mode", mode, "--count", 17, "--file", path))
        thread = recording.thread(truth["pid"])
        assert_waited(thread, truth["flush_ns"], "disk.flush", "disk.write")
        assert_mostly(thread, "disk.flush", "disk.write")


def test_other_ways_to_read(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Reads that come from sendfile, whose descriptors are two, and from page faults, which have none."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=READ_US, fill={"read.data": 32}))
    path = disk.mountpoint / "read.data"
    recording, truth = record(start("major_fault", "--count", 31, "--file", path))
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["fault_ns"], "memory.major_fault", waits=truth["count"], blocks=truth["blocks"])
    assert_mostly(thread, "memory.major_fault")
    named = {row.object.split(":")[3] for row in recording.details("memory.major_fault", "file:")}
    tells = any(probe.name == "filemap_fault" and probe.attached for probe in recording.header.probes)  # since v6.11
    assert named == ({str(path.stat().st_ino)} if tells else set())
    recording, truth = record(start("read", "--mode", "sendfile", "--count", 31, "--file", path))
    assert_waited(recording.thread(truth["pid"]), truth["read_ns"], "disk.read")


@pytest.mark.parametrize("name", ["uring", "aio_read"])
def test_completions_are_awaited(name: str, tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """io_uring and libaio: requests are in flight, so the wait is latency."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=5000, fill={"read.data": 64}))
    recording, truth = record(start(name, "--count", 61, "--file", disk.mountpoint / "read.data"))
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["wait_ns"], "wait.io_uring")
    # The end of libaio's context waits until all CPUs have seen it: for longer than some reads, where they are busy.
    # A page of the program itself may have to come from a cold disk.
    assert_mostly(thread, "wait.io_uring", "kernel.other", "disk.read")
    assert {row.object for row in recording.details("kernel.other")} <= {"exit"}, table(thread)
    (row,) = recording.details("wait.io_uring")
    assert row.object == "inflight", row


def test_a_huge_directory(tmp_path: Path, start: Start, record: Record) -> None:
    """Very many files in one directory: all of it is explained."""
    recording, truth = record(start("huge_directory", "--directory", tmp_path / "huge", "--count", 10007))
    assert truth["entries"] >= 11 * truth["count"]
    assert_mostly(recording.thread(truth["pid"]), "cpu.", "disk.", "kernel.other", "wait.timer", "lock.kernel")


ZEROES = """
import fcntl, os, struct, sys
BLKZEROOUT = 0x127F
disk = os.open(sys.argv[1], os.O_RDWR)
print("ready", flush=True)
sys.stdin.readline()
fcntl.ioctl(disk, BLKZEROOUT, struct.pack("QQ", 0, 7 << 20))
"""


def test_zeroes_are_written(tmp_path: Path, attach: Attach, cleanup: Cleanup) -> None:
    """The disk makes them itself: of who asks for them no data come."""
    image = tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    loop = run("losetup", "--find", "--show", image)
    cleanup.callback(try_run, "losetup", "--detach", loop)
    recording, pid = recorded_snippet(attach, cleanup, ZEROES, loop)
    (user,) = [row for row in recording.of(schema.DiskUser) if row.pid == pid and row.device.startswith("7:")]
    assert user.written_bytes == 7 << 20 and user.io_class == "best-effort", user


WRITES = """
import os, sys
if sys.argv[2] == "ionice":
    os.system(f"ionice -c 3 -p {os.getpid()}")
if sys.argv[2] == "idle":
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print("ready", flush=True)
sys.stdin.readline()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.write(file, bytes(65536))
os.fsync(file)
"""


@pytest.mark.parametrize(("policy", "expected"), [("other", "best-effort"), ("ionice", "idle"), ("idle", "idle")])
def test_the_class_of_io_is_set_or_follows_from_how_a_thread_is_scheduled(
    policy: str, expected: str, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    recording, pid = recorded_snippet(attach, cleanup, WRITES, tmp_path / "file", policy)
    users = [row for row in recording.of(schema.DiskUser) if row.pid == pid]
    assert users and {row.io_class for row in users} == {expected}, users
