"""NFS mounts that go while those who used them are recorded: nothing hangs, nothing is lost, they keep their names."""

from __future__ import annotations

from collections import Counter

import pytest
from perfdiag.recording import schema

from lab.support.guest import Guest
from lab.support.host import GuestPath
from lab.support.nfs import NfsMount, nfs
from live.support import laws
from live.support.fixtures import Attach, Cleanup, Start
from live.support.model import check_model, model_of
from live.support.recording import Recording
from live.support.truth import assert_waited

FLUSH_MS = 50
MOUNTINFO = "/proc/self/mountinfo"
TYPES = {3: "nfs", 4.2: "nfs4"}
PROGRAMS = ("nfs", "nfsacl", "nlm")  # that a mount is used by; others are asked when one is made and taken down


def assert_called(recording: Recording, mount: NfsMount, count: int, *procedures: str) -> None:
    """A mount has had so many calls of each procedure; but for what the kernel left out, as 7.0 and later do."""
    counted: Counter[str] = Counter()
    for row in recording.of(schema.Rpc):
        counted[row.procedure] += row.count * (row.object == mount.object)
    least = count - recording.footer.lost["programs_skipped"]
    assert all(least <= counted[name] <= count for name in procedures), counted


def shown(mount: NfsMount) -> str:
    """Return a mount as people read it."""
    return f"127.0.0.1:{mount.export} on {mount.mountpoint} ({TYPES[mount.version]})"


def names(recording: Recording, object: str) -> set[str]:
    """Return what a report calls an object."""
    return {row.object for row in model_of(recording).rows if row.key == object}


def assert_whole(recording: Recording, *gone: NfsMount) -> None:
    """A recording is lawful and complete, and its mounts were unmounted before its end."""
    laws.check(recording)
    check_model(recording)
    (end,) = [fact for fact in recording.of(schema.Fact) if (fact.path, fact.phase) == (MOUNTINFO, "end")]
    assert end.text, end
    assert not [mount for mount in gone if f" {mount.mountpoint} " in end.text], end.text


def test_a_mount_that_was_used(guest: Guest, cleanup: Cleanup, start: Start, attach: Attach) -> None:
    """Who used it goes on elsewhere: it can be unmounted, as nothing of perfdiag is in it."""
    mount = cleanup.enter_context(nfs(guest, version=3))
    work = start("small_files", "--directory", mount.mountpoint, "--count", 17, "--stay", 1)
    recorder = attach(work)
    work.start()
    work.await_truth()
    guest.run(f"umount {mount.mountpoint}")
    work.start()
    truth = work.truth()
    recording = recorder.wait("targets gone")
    assert_whole(recording, mount)
    waited_ns = sum(truth[name] for name in ("open_ns", "write_ns", "close_ns", "name_ns"))
    assert_waited(recording.thread(work.pid), waited_ns, "nfs.metadata", "nfs.commit", "nfs.write")
    assert_called(recording, mount, 17, "CREATE", "WRITE", "RENAME", "REMOVE")
    assert names(recording, mount.object) == {shown(mount)}


def test_a_mount_that_is_in_use(guest: Guest, cleanup: Cleanup, start: Start, attach: Attach) -> None:
    """Unmounted lazily it is in use until its file is closed, and has no place any longer where it could be found."""
    mount = cleanup.enter_context(nfs(guest, version=4.2, flush_ms=FLUSH_MS))
    flush = start("flush", "--mode", "fsync", "--count", 61, "--bytes", 65536, "--file", mount.mountpoint / "data")
    recorder = attach(flush)
    flush.start()
    guest.run(f"umount -l {mount.mountpoint}; [ ! -e {flush.folder}/status ]")
    truth = flush.truth()
    recording = recorder.wait("targets gone")
    assert_whole(recording, mount)
    assert truth["flush_ns"] >= 61 * FLUSH_MS * 1_000_000, "the disk was not slow: nothing was tested"
    assert_waited(recording.thread(flush.pid), truth["flush_ns"], "nfs.commit")
    (asked,) = [row for row in recording.of(schema.NfsFlush) if row.cause == "fsync"]
    assert (asked.object, asked.count) == (mount.object, 61), asked
    assert_called(recording, mount, 61, "WRITE")
    assert names(recording, mount.object) == {shown(mount)}


@pytest.mark.parametrize("between", [False, True], ids=["at once", "later"])
def test_another_one_is_mounted(
    between: bool, guest: Guest, tmp_path: GuestPath, cleanup: Cleanup, start: Start, attach: Attach
) -> None:
    """The kernel gives the number and the memory of one mount to the next: what is not known to be of one is not told
    as of it."""
    first = cleanup.enter_context(nfs(guest, version=3))
    early = start("small_files", "--directory", first.mountpoint, "--count", 17, "--stay", 1)
    late = start("small_files", "--directory", tmp_path / "late", "--count", 11)
    recorder = attach(early, late)
    early.start()
    early.await_truth()
    guest.run(f"umount {first.mountpoint}")
    if between:
        guest.run(f"mkdir {tmp_path}/other; mount -t tmpfs other {tmp_path}/other")
        cleanup.callback(guest.tidy, f"umount {tmp_path}/other")
    second = cleanup.enter_context(nfs(guest, version=3))
    guest.run(f"ln -s {second.mountpoint} {tmp_path}/late")
    late.run()
    early.start()
    early.truth()
    recording = recorder.wait("targets gone")
    assert_whole(recording, first)
    heir = f"other on {tmp_path}/other (tmpfs)" if between else shown(second)
    assert names(recording, first.object) == {f"{shown(first)}, or later {heir}"}
    if between:
        assert_called(recording, first, 17, "CREATE", "WRITE", "REMOVE")
        assert_called(recording, second, 11, "CREATE", "WRITE", "REMOVE")
        assert names(recording, second.object) == {shown(second)}
    else:
        assert first.object == second.object, "the kernel took another number: nothing was tested"
        assert_called(recording, second, 17 + 11, "CREATE", "WRITE", "REMOVE")
    others = [row for row in recording.of(schema.Rpc) if row.program not in PROGRAMS]
    assert others and not [row for row in others if row.object != "server:127.0.0.1"], others
