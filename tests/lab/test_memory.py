"""Memory on stock kernels: pauses for dirty pages and whose they are, reads of what is not in memory, by file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema

from lab.support.guest import Guest
from live.support.fixtures import Attach, Record, Start
from live.support.model import model_of
from live.support.recording import count_of, ns_of, table
from live.support.truth import assert_mostly, assert_waited

MEBIBYTE = 1 << 20
PAGE = 4096
STRIDE = ("--stride", 128 << 10)
DEVICE = "254:16"  # the disk that takes 4 MB a second

# No journal: its own writes would wait behind those that are measured.
SLOW = """
[ -e /run/slow-disk ] || mkfs.ext4 -q -F -E lazy_itable_init=0 -O ^has_journal -b 4096 /dev/vdb 65536
touch /run/slow-disk
mkdir -p /mnt/slow
mount /dev/vdb /mnt/slow
"""
LIMITS = "cd /proc/sys/vm; cat dirty_bytes dirty_background_bytes dirty_ratio dirty_background_ratio"
RESTORE = """
set -- {0}
cd /proc/sys/vm
if [ $1 = 0 ]; then echo $3 >dirty_ratio; else echo $1 >dirty_bytes; fi
if [ $2 = 0 ]; then echo $4 >dirty_background_ratio; else echo $2 >dirty_background_bytes; fi
"""


@pytest.fixture
def slow(guest: Guest) -> Iterator[str]:
    """A file system on the slow disk, and writers that are held at 8 MiB of dirty pages."""
    before = guest.run(LIMITS)
    guest.run(SLOW + f"echo {8 * MEBIBYTE} >/proc/sys/vm/dirty_bytes")
    guest.run(f"echo {4 * MEBIBYTE} >/proc/sys/vm/dirty_background_bytes")
    yield "/mnt/slow"
    guest.try_run("umount /mnt/slow")
    guest.try_run(RESTORE.format(" ".join(before.split())))


@pytest.mark.timeout(120)
def test_a_writer_is_paused_for_its_own_pages(guest: Guest, slow: str, start: Start, record: Record) -> None:
    """17 MiB through a limit of 8: what is over it has to be written first, at 4 MB a second."""
    mebibytes = 17
    options = ("--mode", "none", "--count", 8 * mebibytes, "--bytes", MEBIBYTE // 8, "--file", f"{slow}/written")
    recording, truth = record(start("flush", *options))
    thread = recording.thread(truth["pid"])
    assert truth["write_ns"] > 1_500_000_000, "nobody was paused: nothing was tested"
    assert_mostly(thread, "memory.dirty_throttle")
    assert_waited(thread, truth["write_ns"], "memory.dirty_throttle")
    (row,) = recording.details("memory.dirty_throttle")
    assert row.object == f"device:{DEVICE}", row
    (writeback,) = recording.of(schema.Writeback)
    assert writeback.device == DEVICE and writeback.rounds >= row.count
    # Below the limit it is not looked at; the counters of its pages are kept by CPU, a few pages apart.
    assert 6 * MEBIBYTE <= writeback.dirty_bytes <= 9 * MEBIBYTE, writeback
    # The disk takes 4 MB a second, and what is put together into one request at once, which is no more than what waits
    # before anybody is held; it has less to do while an emulated writer takes its time.
    most = 4.4e6 * writeback.span_ns / 1e9 + 4 * MEBIBYTE
    assert 1e6 * writeback.span_ns / 1e9 < writeback.written_bytes < most, writeback
    (dirtier,) = recording.of(schema.Dirtier)
    assert (dirtier.pid, dirtier.tid, dirtier.comm) == (truth["pid"], truth["pid"], "flush"), dirtier
    # Not counted is what is dirtied while less is dirty than half way to the limit, where nobody is held.
    assert (mebibytes - 8) / 3 * MEBIBYTE <= dirtier.bytes <= (mebibytes - 3) * MEBIBYTE, dirtier


@pytest.mark.timeout(180)
def test_a_victim_is_told_from_the_culprit(guest: Guest, slow: str, start: Start, attach: Attach) -> None:
    """One that writes a little waits behind one that fills the disk, and the recording has both."""
    culprit = start("flush", "--mode", "none", "--count", 200, "--bytes", MEBIBYTE // 8, "--file", f"{slow}/culprit")
    victim = start("flush", "--mode", "none", "--count", 67, "--bytes", 4 * PAGE, "--file", f"{slow}/victim")
    recorder = attach(victim)
    culprit.start()
    guest.run(f"until [ $(stat -c %s {slow}/culprit) -gt {8 * MEBIBYTE} ]; do sleep 0.1; done")
    truth = victim.run()
    recording = recorder.wait()
    culprit.truth()
    dirtied = {line.pid: line.bytes for line in recording.of(schema.Dirtier)}
    assert dirtied[culprit.pid] > 5 * dirtied.get(victim.pid, 0), dirtied
    assert dirtied[culprit.pid] > 2 * MEBIBYTE and dirtied.get(victim.pid, 0) <= 67 * 4 * PAGE, dirtied
    assert_waited(recording.thread(truth["pid"]), truth["write_ns"], "memory.", "lock.kernel", "disk.write")


@pytest.mark.timeout(120)
def test_a_writer_that_is_not_held_only_sleeps(guest: Guest, slow: str, start: Start, record: Record) -> None:
    """What is near the limit is looked at, and not paused: the sleep that follows is no pause."""
    recording, truth = record(start("flush", "--mode", "none", "--count", 11, "--bytes", PAGE, "--file", f"{slow}/a"))
    assert ns_of(recording.thread(truth["pid"]), "memory.") == 0, table(recording.thread(truth["pid"]))
    assert recording.of(schema.Dirtier) == []


@pytest.mark.timeout(120)
def test_files_that_are_read_from_disk(guest: Guest, slow: str, start: Start, record: Record) -> None:
    """Cold reads of single pages: each page is one miss, and the waits have the file."""
    guest.run(f"head -c {5 * MEBIBYTE} /dev/zero >{slow}/cold; sync; umount {slow}; mount /dev/vdb {slow}")
    inode = guest.run(f"stat -c %i {slow}/cold")
    recording, truth = record(start("read", "--mode", "buffered", "--count", 37, *STRIDE, "--file", f"{slow}/cold"))
    (file,) = [line for line in recording.of(schema.FileRead) if line.object.startswith(f"file:{DEVICE}:{inode}:")]
    assert file.object.endswith(":cold") and file.size_bytes == 5 * MEBIBYTE, file
    assert file.bytes == 37 * PAGE, file
    thread = recording.thread(truth["pid"])
    assert file.waits <= count_of(thread, "disk.read") and file.sum_ns <= ns_of(thread, "disk.read"), table(thread)
    assert file.sum_ns >= 0.8 * ns_of(thread, "disk.read"), f"{file}: {table(thread)}"  # the rest: its block map
    recording, truth = record(start("read", "--mode", "direct", "--count", 37, *STRIDE, "--file", f"{slow}/cold"))
    assert sum(line.bytes for line in recording.of(schema.FileRead) if "cold" in line.object) == 0, "not through it"


@pytest.mark.timeout(120)
def test_what_is_written_is_no_miss(guest: Guest, slow: str, start: Start, record: Record) -> None:
    """A write brings pages into memory as well, and faults of a mapping do for reading."""
    recording, _ = record(start("flush", "--mode", "none", "--count", 101, "--bytes", PAGE, "--file", f"{slow}/new"))
    assert [line for line in recording.of(schema.FileRead) if line.object.endswith(":new")] == []
    guest.run(f"head -c {5 * MEBIBYTE} /dev/zero >{slow}/cold; sync; umount {slow}; mount /dev/vdb {slow}")
    recording, truth = record(start("major_fault", "--count", 17, "--stride", 256 << 10, "--file", f"{slow}/cold"))
    (file,) = [line for line in recording.of(schema.FileRead) if line.object.endswith(":cold")]
    assert file.bytes >= 17 * PAGE, (file, truth)


def features(recording: Any) -> dict[str, str | None]:
    """Return why each feature that was not measured was not."""
    return {probe.feature: probe.reason for probe in recording.header.probes if not probe.attached}


def test_all_hooks_are_there(guest: Guest, start: Start, record: Record) -> None:
    """Or the reason is; no program is refused, of whatever feature."""
    recording, _ = record(start("flush", "--count", 1, "--file", "/dev/shm/x"))
    refused = {probe.name: probe.reason for probe in recording.header.probes if "refused" in (probe.reason or "")}
    assert not refused
    assert not features(recording).keys() & {"page_cache", "dirty_throttle", "reclaim", "compaction"}


@pytest.mark.timeout(180)
def test_over_the_soft_limit(guest: Guest, start: Start, record: Record) -> None:
    """Memory that cannot be reclaimed grows over memory.high: each charge is answered with a sleep."""
    group = "/sys/fs/cgroup/soft"
    guest.run(f"mkdir -p {group}; echo {12 * MEBIBYTE} >{group}/memory.high")
    recording, truth = record(start("grow", "--mebibytes", 13, prepare=f"echo $pid >{group}/cgroup.procs"))
    thread = recording.thread(truth["pid"])
    assert truth["touch_ns"] > 1_000_000_000, "nobody was slowed down: nothing was tested"
    rows = recording.details("memory.cgroup")
    assert [row.object for row in rows] == ["limit:high"], rows
    assert_waited(thread, truth["touch_ns"], "memory.cgroup")
    assert ns_of(thread, "memory.cgroup") > 0.8 * truth["touch_ns"], table(thread)


@pytest.mark.timeout(180)
def test_at_the_hard_limit(guest: Guest, slow: str, start: Start, record: Record) -> None:
    """Pages of a file push each other out: the reader reclaims, and each of its reads goes to the disk again."""
    group = "/sys/fs/cgroup/hard"
    guest.run(f"mkdir -p {group}; echo {8 * MEBIBYTE} >{group}/memory.max")
    guest.run(f"head -c {13 * MEBIBYTE} /dev/zero >{slow}/large; sync; umount {slow}; mount /dev/vdb {slow}")
    options = ("--mode", "file", "--mebibytes", 13, "--rounds", 3, "--file", f"{slow}/large")
    recording, _ = record(start("memory", *options, prepare=f"echo $pid >{group}/cgroup.procs"))
    rows = recording.details("memory.cgroup")
    assert rows and {row.object for row in rows} == {"limit:max"}, rows
    (file,) = [line for line in recording.of(schema.FileRead) if line.object.endswith(":large")]
    again = PAGE * int(guest.run(f"sed -n 's/^workingset_refault_file //p' {group}/memory.stat"))
    assert again > 13 * MEBIBYTE, "hardly anything was evicted: nothing was tested"
    assert abs(file.bytes - 13 * MEBIBYTE - again) < 0.2 * again, (file, again)


@pytest.mark.timeout(180)
def test_books_close_where_reclaim_is_preempted(guest: Guest, tmp_path: Any, start: Start, attach: Attach) -> None:
    """One of many that want a CPU frees memory for each page it reads: 7.0 and later may switch within a tracepoint."""
    group, large = "/sys/fs/cgroup/pressed", tmp_path / "large"
    guest.run(f"mkdir -p {group}; echo {8 * MEBIBYTE} >{group}/memory.max")
    large.write_bytes(bytes(13 * MEBIBYTE))
    guest.run("echo 1 >/proc/sys/vm/drop_caches")
    options = ("--mode", "file", "--mebibytes", 13, "--rounds", 31, "--file", large)
    reader = start("memory", *options, prepare=f"echo $pid >{group}/cgroup.procs")
    others = start("spin", "--threads", 4, "--duration-ms", 60_000)
    recorder = attach(reader)
    others.start()
    reader.run()
    recording = recorder.wait("targets gone")
    thread = recording.thread(reader.pid)
    assert count_of(thread, "memory.cgroup") >= 100, f"hardly ever in reclaim: nothing was tested: {table(thread)}"
    assert count_of(thread, "runq.busy") >= 20, f"hardly ever preempted: nothing was tested: {table(thread)}"
    booked_ns = sum(total.sum_ns for total in thread.accounts)
    assert abs(booked_ns - thread.wall_ns) <= 1000, f"{booked_ns - thread.wall_ns:+,} ns: {table(thread)}"


@pytest.fixture
def little_memory(guest: Guest) -> Iterator[None]:
    """Some 300 MiB to share: the rest is reserved for huge pages that nobody uses."""
    guest.run(
        "set -- $(grep MemAvailable /proc/meminfo); echo $((($2 - 300 * 1024) / 2048)) >/proc/sys/vm/nr_hugepages"
    )
    yield
    guest.try_run("echo 0 >/proc/sys/vm/nr_hugepages")


@pytest.mark.timeout(180)
def test_compaction_for_huge_pages(guest: Guest, little_memory: None, start: Start, attach: Attach) -> None:
    """Free memory is all in single pages: a fault of a huge page makes room for it first."""
    pages = "/sys/kernel/mm/transparent_hugepage"
    guest.run(f"echo madvise >{pages}/enabled; echo madvise >{pages}/defrag")
    target = start("grow", "--mebibytes", 97, "--huge", 1)
    recorder = attach(target)  # before it gets tight: its programs want large pieces of memory, too
    start("sieve", "--leave", 32)
    truth = target.run()
    recording = recorder.wait()
    thread = recording.thread(truth["pid"])
    assert ns_of(thread, "memory.compaction") > 0, table(thread)
    assert {row.object for row in recording.details("memory.compaction")} == {"order:9"}
    regions = ns_of(thread, "memory.")
    assert regions <= truth["touch_ns"], table(thread)
    if regions > 0.3 * truth["touch_ns"]:
        found = {finding.id for finding in diagnose(model_of(recording)).findings}
        assert found & {"MEM-FRAGMENTATION", "THP-STALL"}, found  # the second where the kernel counted its stalls
