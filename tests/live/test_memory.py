"""Waiting for memory: swap, limits, dirty pages; and a file system that is served by a process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.diagnosis.rules import RULES
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.host import MEBIBYTE, cgroup, enter, slow_disk, slow_file
from live.support.model import model_of
from live.support.recording import count_of, ns_of, table
from live.support.truth import assert_mostly, assert_waited

pytestmark = pytest.mark.may_skip("a memory controller of cgroup version 1, FUSE in the kernel")


def sparse(path: Path, mebibytes: int) -> Path:
    """Make a file of zeroes."""
    with path.open("wb") as file:
        file.truncate(mebibytes * MEBIBYTE)
    return path


def test_swap_in(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """A process over its limit, whose pages come back from a slow swap device."""
    cleanup.enter_context(slow_disk(tmp_path, "swap", mebibytes=64, read_us=2000, write_us=100))
    group = cleanup.enter_context(cgroup("memory", "swap", limit_in_bytes=12 * MEBIBYTE))
    recording, truth = record(start("memory", "--mebibytes", 20, "--rounds", 2, prepare=enter(group)))
    thread = recording.thread(truth["pid"])
    assert truth["major_faults"] > 100, "nothing was swapped: nothing was tested"
    assert ns_of(thread, "memory.swap_in") >= truth["major_faults"] * 1_500_000, table(thread)
    assert_mostly(thread, "memory.", "cpu.", share=0.95)


def test_a_cgroup_limit(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Pages of a file push each other out below a limit: the thread frees memory itself."""
    data = sparse(tmp_path / "read.data", 96)
    group = cleanup.enter_context(cgroup("memory", "limit", limit_in_bytes=8 * MEBIBYTE))
    options = ("--mode", "file", "--mebibytes", 64, "--rounds", 4, "--file", data)
    recording, truth = record(start("memory", *options, prepare=enter(group)))
    assert int((group / "memory.failcnt").read_text()) > 0, "the limit was never met: nothing was tested"
    thread = recording.thread(truth["pid"])
    assert ns_of(thread, "memory.cgroup") > 0.01 * ns_of(thread, "memory.", "cpu."), table(thread)
    assert count_of(thread, "memory.cgroup") > 100, table(thread)
    assert ns_of(thread, "memory.reclaim") == 0, table(thread)


# Touches pages of a mapped file in turn; with "request" they are paged out before each round.
TOUCHES = """
import mmap, sys, time
with open(sys.argv[1], "r+b") as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
pages.madvise(mmap.MADV_RANDOM)
print(0, flush=True)
while True:
    if sys.argv[2] == "request":
        pages.madvise(21)  # MADV_PAGEOUT
    for at in range(0, len(pages), 4096):
        pages[at]
"""


@pytest.mark.parametrize(
    ("how", "limit_mebibytes", "severity"), [("request", 256, Severity.INFO), ("limit", 24, Severity.WARNING)]
)
def test_why_mapped_pages_come_back(
    how: str, limit_mebibytes: int, severity: Severity, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    """Paged out by request they are counted as evicted, too, and memory is short only where a limit takes them."""
    data = tmp_path / "mapped"
    data.write_bytes(bytes(range(256)) * 4096 * 48)
    with data.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # what is in memory already meets no limit
    group = cleanup.enter_context(cgroup("memory", "mapped", limit_in_bytes=limit_mebibytes * MEBIBYTE))
    pid, _ = cleanup.enter_context(running_server(TOUCHES, data, how, prepare=enter(group)))
    model = model_of(attach(pid, only=True, duration_ns=1_500_000_000).wait())
    found = [each for each in RULES["MEM-MAJOR-FAULTS"].function(model) if isinstance(each, Finding)]
    assert len(found) == 1 and found[0].severity is severity, (found, model.accounts)
    back, reclaimed = (each.value for each in found[0].evidence if each.unit == "count")
    assert back > 500 and (reclaimed > back / 2) is (how == "limit"), found[0].evidence


def test_a_served_file_system_is_remote(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Reads and flushes of a FUSE file are waits for its server, named by mount."""
    backing = sparse(tmp_path / "backing", 32)
    slow = cleanup.enter_context(slow_file(tmp_path, backing, read_us=5000, flush_us=20_000))
    recording, truth = record(start("read", "--count", 101, "--file", slow.file))
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["read_ns"], "remote.fs", waits=truth["count"], blocks=truth["blocks"])
    assert_mostly(thread, "remote.fs")
    (row,) = recording.details("remote.fs")
    assert row.object.startswith("mount:"), row
    recording, truth = record(start("major_fault", "--count", 17, "--file", slow.file))
    assert_waited(recording.thread(truth["pid"]), truth["fault_ns"], "remote.fs")
    recording, truth = record(start("flush", "--count", 23, "--file", slow.file))
    assert_waited(recording.thread(truth["pid"]), truth["flush_ns"] + truth["write_ns"], "remote.fs")


# Opens a file again and again.
OPENS = """
import os, sys
print(0, flush=True)
while True:
    os.close(os.open(sys.argv[1], os.O_RDONLY))
"""


def test_a_served_file_that_is_slow_to_open(tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    """open() waits for a server of FUSE in light sleep."""
    slow = cleanup.enter_context(slow_file(tmp_path, sparse(tmp_path / "backing", 1), open_us=5000))
    pid, _ = cleanup.enter_context(running_server(OPENS, slow.file))
    recording = attach(pid, only=True, duration_ns=1_500_000_000).wait()
    thread = recording.thread(pid)
    assert ns_of(thread, "remote.fs") > 1_200_000_000, table(thread)
    assert ns_of(thread, "kernel.other") == 0, table(thread)
    (found,) = [each for each in RULES["FS-REMOTE-SLOW"].function(model_of(recording)) if isinstance(each, Finding)]
    assert found.severity is Severity.WARNING, found.claim


def test_a_mapping_of_a_served_file_is_flushed(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """msync names no descriptor: whose file it waits for is known from the mapping."""
    slow = cleanup.enter_context(slow_file(tmp_path, sparse(tmp_path / "backing", 32), flush_us=20_000, writeback=True))
    recording, truth = record(start("flush", "--mode", "msync", "--count", 23, "--file", slow.file))
    thread = recording.thread(truth["pid"])
    assert truth["flush_ns"] >= 23 * 20_000_000, "the server was not slow: nothing was tested"
    assert_waited(thread, truth["flush_ns"], "remote.fs")
    assert ns_of(thread, "disk.flush") == 0, table(thread)
    number = slow.file.stat().st_dev
    assert [row.object for row in recording.details("remote.fs")] == [f"mount:{number >> 8 & 0xFFF}:{number & 0xFF}"]


def test_a_writer_is_paused(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """FUSE has a strict limit of dirty pages of its own: its writers are throttled, and nobody else."""
    backing = sparse(tmp_path / "backing", 1)
    slow = cleanup.enter_context(slow_file(tmp_path, backing, write_us=5000, writeback=True))
    recording, truth = record(start("flush", "--mode", "none", "--count", 197, "--bytes", 131_072, "--file", slow.file))
    thread = recording.thread(truth["pid"])
    assert truth["write_ns"] > 500_000_000, "nobody was paused: nothing was tested"
    assert_mostly(thread, "memory.dirty_throttle")
    assert_waited(thread, truth["write_ns"], "memory.dirty_throttle")
    (row,) = recording.details("memory.dirty_throttle")
    number = slow.file.stat().st_dev
    assert row.object == f"device:{number >> 8 & 0xFFF}:{number & 0xFF}", row
    (writeback,) = recording.of(schema.Writeback)
    assert f"device:{writeback.device}" == row.object and writeback.dirty_bytes <= 2 * MEBIBYTE, writeback
    (dirtier,) = recording.of(schema.Dirtier)
    assert (dirtier.pid, dirtier.comm, dirtier.device) == (truth["pid"], "flush", writeback.device), dirtier
    assert 0 < dirtier.bytes <= 197 * 131_072, dirtier


def test_files_that_are_read_from_disk(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Each page that is read through the page cache is counted with its file, and none that goes past it."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", mebibytes=96, read_us=500, fill={"cold.data": 37}))
    data = disk.mountpoint / "cold.data"
    recording, truth = record(start("read", "--mode", "buffered", "--count", 37, "--file", data))
    (file,) = [line for line in recording.of(schema.FileRead) if line.object.endswith(":cold.data")]
    assert file.object.split(":")[3] == str(data.stat().st_ino) and file.size_bytes == 37 * MEBIBYTE, file
    assert file.bytes == 37 * 4096, file
    assert file.waits >= 37 and file.sum_ns >= 37 * 500_000, file
    assert file.sum_ns <= ns_of(recording.thread(truth["pid"]), "disk.read"), file
    recording, _ = record(start("read", "--count", 37, "--file", data))
    assert not any(line.bytes for line in recording.of(schema.FileRead) if line.object.endswith(":cold.data"))
