"""NFS over the loopback device of a guest: the recording against the workload's clock and the kernel's own counts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from perfdiag.recording import schema

from lab.support.guest import Guest
from lab.support.host import GuestPath
from lab.support.nfs import NfsMount, nfs
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.model import model_of
from live.support.recording import Recording, count_of, ns_of, table
from live.support.truth import assert_waited

MILLISECOND = 1_000_000
FLUSH_MS = 50
LEASES = "/proc/sys/fs/leases-enable"
FACTS_NS = 2_000_000_000  # facts are read this much around the window, in an emulated machine
CONNECTIONS = "/sock_diag/nfs"

Calls = Mapping[str, tuple[int, int, int, int]]


each_version = pytest.mark.parametrize("version", [3, 4.2])


names = (f"file-{number}" for number in itertools.count(1))


def rpcs(recording: Recording, mount: NfsMount) -> dict[str, schema.Rpc]:
    """Return the calls of a mount by procedure."""
    found = {row.procedure: row for row in recording.of(schema.Rpc) if row.object == mount.object}
    assert len(found) == sum(row.object == mount.object for row in recording.of(schema.Rpc)), "a procedure twice"
    return found


def served(recording: Recording, mount: NfsMount) -> dict[str, schema.NfsServer]:
    """Return what the server of the same guest took, by procedure or operation."""
    return {row.procedure: row for row in recording.of(schema.NfsServer) if row.version == int(mount.version)}


def left_out(recording: Recording) -> int:
    """Return how many runs of programs the kernel left out: 7.0 and later do, where one is preempted in the middle."""
    return recording.footer.lost["programs_skipped"]


def assert_counted(rpc: schema.Rpc, before: Calls, after: Calls, left_out: int) -> None:
    """A line of calls says what /proc/self/mountstats does, which rounds to milliseconds; but for what was left out."""
    none = (0, 0, 0, 0)
    count, *ms = (
        late - early for late, early in zip(after[rpc.procedure], before.get(rpc.procedure, none), strict=True)
    )
    assert rpc.count == sum(number for _, number in rpc.wire_buckets), rpc
    assert count - left_out <= rpc.count <= count, (rpc, count, left_out)
    if rpc.count < count:
        return
    whole_ns = rpc.queue_ns + rpc.wire_ns + rpc.reply_ns
    for ns, wanted_ms in zip((rpc.queue_ns, rpc.wire_ns, whole_ns), ms, strict=True):
        assert abs(ns - wanted_ms * MILLISECOND) <= 2 * MILLISECOND, (rpc, ms)


def assert_acknowledged(recording: Recording, mount: NfsMount, number: int, thread: schema.Thread) -> None:
    """The server has taken so many bytes, and little besides; unless this host was too busy to ask, and says so."""
    facts = model_of(recording).facts
    held = facts.nfs_connections_of(mount.object.removeprefix("mount:"))
    if not held:
        assert "timeout" in facts.reason("nfs_connections")
        return
    asked_ns = min(fact.at_ns for fact in recording.of(schema.Fact) if fact.path == CONNECTIONS)
    in_time = asked_ns < thread.start_ns + ns_of(thread, "wait.events")  # else the first were written by then
    assert (number if in_time else 0) < held.acknowledged_bytes < 1.1 * number + (64 << 10), held
    assert held.receiver_ns <= held.busy_ns <= recording.wall_ns + FACTS_NS, held


@each_version
def test_small_and_large_flushes(version: float, guest: Guest, cleanup: Cleanup, start: Start, record: Record) -> None:
    """64 KiB are made safe by one stable WRITE, 2 MiB by a COMMIT: both are waited for in nfs.commit."""
    mount = cleanup.enter_context(nfs(guest, version=version, flush_ms=FLUSH_MS))
    for kib, count in ((64, 13), (2048, 7)):
        path = mount.mountpoint / next(names)
        flush = start("flush", "--mode", "fsync", "--count", count, "--bytes", kib << 10, "--append", 0, "--file", path)
        before = mount.calls()
        recording, truth = record(flush)
        after = mount.calls()
        thread = recording.thread(truth["pid"])
        assert truth["flush_ns"] >= count * FLUSH_MS * MILLISECOND, "the disk was not slow: nothing was tested"
        assert_waited(thread, truth["flush_ns"], "nfs.commit")
        (asked,) = [row for row in recording.of(schema.NfsFlush) if row.cause == "fsync"]
        assert asked.object == mount.object
        assert asked.count == count
        assert asked.bytes == count * kib << 10
        around_ns = ns_of(thread, "cpu.", "runq.")
        assert 0.95 * truth["flush_ns"] - around_ns <= asked.sum_ns <= truth["flush_ns"], (asked, truth, around_ns)
        calls = rpcs(recording, mount)
        assert_counted(calls["WRITE"], before, after, left_out(recording))
        assert abs(asked.writes - calls["WRITE"].count) <= left_out(recording), (asked, calls["WRITE"])
        assert (asked.commits, asked.stable_writes) == ((count, 0) if kib > 64 else (0, count)), asked
        if kib > 64:
            assert_counted(calls["COMMIT"], before, after, left_out(recording))
        assert_acknowledged(recording, mount, count * kib << 10, thread)
        slow = "COMMIT" if kib > 64 else "WRITE"
        answers = served(recording, mount)
        assert answers[slow].count == count, answers
        assert count * FLUSH_MS * MILLISECOND <= answers[slow].sum_ns <= calls[slow].wire_ns, (answers, calls[slow])


@each_version
def test_small_files(version: float, guest: Guest, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Names and attributes are nfs.metadata, and what close makes safe is nfs.commit, though the file is closed."""
    mount = cleanup.enter_context(nfs(guest, version=version))
    work = start("small_files", "--directory", mount.mountpoint, "--count", 17)
    before = mount.calls()
    recording, truth = record(work)
    after = mount.calls()
    thread = recording.thread(truth["pid"])
    waited = sum(truth[name] for name in ("open_ns", "write_ns", "close_ns", "name_ns"))
    assert_waited(thread, waited, "nfs.metadata", "nfs.commit", "nfs.write")
    assert count_of(thread, "nfs.commit") >= 15, table(thread)  # one that was answered at once is no wait
    assert ns_of(thread, "nfs.commit") <= 1.05 * truth["close_ns"], table(thread)
    assert ns_of(thread, "kernel.other") <= 0.05 * waited, recording.details("kernel.other")
    assert {row.object for row in recording.details("nfs.metadata")} == {mount.object}
    (closes,) = recording.of(schema.NfsFlush)
    assert (closes.cause, closes.count, closes.stable_writes, closes.commits) == ("close", 17, 17, 0)
    calls = rpcs(recording, mount)
    for name in ("CREATE" if version < 4 else "OPEN", "WRITE", "RENAME", "REMOVE"):
        assert calls[name].count >= 17  # a server can put a call off, and is asked again
        assert_counted(calls[name], before, after, left_out(recording))


@each_version
def test_locks(version: float, guest: Guest, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Calls for a lock are nfs.lock; the wait for a process of this host that has it is that of a file lock."""
    # A server may lend a file to a client (7.2 does), which then locks it for its processes without a call.
    lends = guest.run(f"cat {LEASES}; echo 0 >{LEASES}")
    cleanup.callback(guest.try_run, f"echo {lends} >{LEASES}")
    mount = cleanup.enter_context(nfs(guest, version=version))
    recording, truth = record(start("file_lock", "--mode", "fcntl", "--count", 11, "--file", mount.mountpoint / "lock"))
    thread = recording.thread(truth["pid"])
    waited = ns_of(thread, "nfs.lock", "lock.file")
    assert count_of(thread, "nfs.lock") >= 11, table(thread)
    assert waited + ns_of(thread, "cpu.", "runq.") >= 0.95 * truth["wait_ns"], table(thread)
    assert {row.object for row in recording.details("nfs.lock")} == {mount.object}
    locks = [row for row in recording.of(schema.Rpc) if row.procedure == "LOCK"]
    assert sum(row.count for row in locks) >= 22, recording.of(schema.Rpc)
    assert {row.program for row in locks} == {"nlm" if version < 4 else "nfs"}, locks


def test_a_synchronous_mount(guest: Guest, cleanup: Cleanup, start: Start, record: Record) -> None:
    """With noac the write does the work, and a flush finds nothing to do."""
    mount = cleanup.enter_context(nfs(guest, version=3, options="noac", flush_ms=FLUSH_MS))
    flush = start("flush", "--mode", "fsync", "--count", 13, "--bytes", 65536, "--file", mount.mountpoint / "data")
    recording, truth = record(flush)
    thread = recording.thread(truth["pid"])
    assert truth["write_ns"] >= 13 * FLUSH_MS * MILLISECOND > truth["flush_ns"]
    assert_waited(thread, truth["write_ns"], "nfs.write")
    assert ns_of(thread, "nfs.commit") <= truth["flush_ns"], table(thread)
    flushes = {row.cause: row for row in recording.of(schema.NfsFlush)}
    assert (flushes["pwrite64"].count, flushes["pwrite64"].stable_writes) == (13, 13), flushes
    assert (flushes["fsync"].count, flushes["fsync"].writes) == (13, 0), flushes


def test_a_long_way(guest: Guest, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Time on the wire is the client's time until the answer, and not the server's."""
    mount = cleanup.enter_context(nfs(guest))
    flush = start("flush", "--mode", "fsync", "--count", 7, "--bytes", 65536, "--file", mount.mountpoint / "data")
    mount.delay_wire(20)
    recording, truth = record(flush)
    mount.delay_wire(0)
    assert_waited(recording.thread(truth["pid"]), truth["flush_ns"], "nfs.commit")
    write = rpcs(recording, mount)["WRITE"]
    answered = served(recording, mount)["WRITE"]
    assert write.count == answered.count == 7
    assert write.wire_ns - answered.sum_ns >= 7 * 40 * MILLISECOND, (write, answered)


def test_a_server_that_is_gone(guest: Guest, cleanup: Cleanup, start: Start, attach: Attach) -> None:
    """A hard mount without a server holds the target, not the recorder, and the open wait tells."""
    mount = cleanup.enter_context(nfs(guest))
    flush = start("flush", "--mode", "fsync", "--count", 1, "--bytes", 65536, "--file", mount.mountpoint / "data")
    cleanup.callback(mount.delay_wire, 0)
    recorder = attach(flush, duration_ns=4_000 * MILLISECOND)
    mount.drop_wire()
    flush.start()
    recording = recorder.wait("duration")
    thread = recording.thread(flush.pid)
    assert thread.open is not None and thread.open.account == "nfs.commit", table(thread)
    assert thread.open.object == mount.object
    mount.delay_wire(0)
    assert flush.truth()["flush_ns"] >= 3_000 * MILLISECOND


def test_nfs_that_comes_later(
    guest: Guest, tmp_path: GuestPath, cleanup: Cleanup, start: Start, attach: Attach
) -> None:
    """Without its module at the start no call is counted, which is said; waits on open files are booked though."""
    status, said = guest.try_run(
        "umount -a -t nfs,nfs4 2>/dev/null; modprobe -r nfsv3 nfsv4 nfs && [ ! -e /sys/module/nfs ]"
    )
    assert status == 0, said
    work = start("small_files", "--directory", tmp_path / "late", "--count", 7, "--bytes", 65536)
    recorder = attach(work)
    mount = cleanup.enter_context(nfs(guest, options="sync"))
    guest.run(f"ln -s {mount.mountpoint} {tmp_path}/late")
    truth = work.run()
    recording = recorder.wait("targets gone")
    missing = [probe for probe in recording.header.probes if probe.feature == "nfs"]
    assert missing and {probe.reason for probe in missing} == {"the module nfs is not loaded"}, missing
    assert not recording.of(schema.Rpc)
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["write_ns"], "nfs.write", share=0.1)
