"""perfdiag host: all tasks of a host, of which a few are known and 2,000 sleep all along."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.model import builder
from perfdiag.recording import reader, schema
from perfdiag.report import assembly
from perfdiag.report.contract import Consumers, Report

from lab.support import host
from lab.support.guest import Guest
from live.support.recording import Recording, ns_of

SLEEPERS = 2000
QUOTA = 0.5  # of a CPU
CLOSE = 0.01
NEAR = 0.1  # what the workload's clock sees besides: waits for a CPU

Row = schema.Thread | schema.Process


@pytest.fixture
def sleepers(guest: Guest) -> Iterator[None]:
    """So many threads, asleep before the recording begins and after it ends."""
    arguments = f"--threads {SLEEPERS} --period-ms 3600000 --duration-ms 3600000"
    guest.run(f"many_threads {arguments} >/run/sleepers 2>&1 & echo $! >/run/sleepers.pid")
    guest.run(
        f"until [ $(ls /proc/$(cat /run/sleepers.pid)/task | wc -l) -gt {SLEEPERS} ]; do sleep 0.2; done; sleep 1"
    )
    yield
    guest.try_run("kill -s KILL $(cat /run/sleepers.pid)")


@contextlib.contextmanager
def slow(guest: Guest) -> Iterator[str]:
    """A file system on the disk that takes 4 MB a second."""
    guest.run(
        "mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/vdb; mkdir -p /run/slow; mount /dev/vdb /run/slow"
    )
    try:
        yield "/run/slow"
    finally:
        guest.try_run("umount /run/slow")


def rows_of(recording: Recording, pid: int) -> list[Row]:
    """Return all that has books of a process: its busiest threads, and the others in one."""
    return [
        *(row for row in recording.threads if row.pid == pid),
        *(row for row in recording.of(schema.Process) if row.pid == pid),
    ]


def spent_ns(recording: Recording, pid: int, *accounts: str) -> int:
    return sum(ns_of(row, *accounts) for row in rows_of(recording, pid))  # type: ignore[arg-type]


def reported(recording: Recording) -> Report:
    with recording.path.open("rb") as stream:
        model = builder.build(reader.read(stream))
    assert not model.coverage.contradictions, model.coverage.contradictions
    return assembly.make(model, engine.diagnose(model), Config())


def consumers(made: Report, account: str) -> Consumers:
    assert made.everyone
    return next(each for each in made.everyone.consumers if each.account == account)


def assert_closed(recording: Recording) -> None:
    for row in [*recording.threads, *recording.of(schema.Process), *recording.folds]:
        booked_ns = sum(total.sum_ns for total in row.accounts)
        assert abs(booked_ns - row.wall_ns) <= CLOSE * row.wall_ns + 1000, row


def assert_bounded(recording: Recording) -> None:
    """What sleeps all along has no row, and is counted."""
    assert len(recording.threads) <= 64 and len(recording.of(schema.Process)) <= 400
    left_out = recording.footer.threads_left_out
    assert left_out is not None and SLEEPERS - 5 <= left_out <= SLEEPERS + 200
    assert recording.footer.threads_seen < 200
    assert recording.path.stat().st_size < 1 << 20


def test_a_host(guest: Guest, start: Any, attach: Any, sleepers: None) -> None:
    with (
        host.guest_cgroup(guest, "cpu", "hog", cfs_quota_us=50_000, cfs_period_us=100_000) as group,
        slow(guest) as disk,
    ):
        hog = start("spin", "--threads", 1, "--duration-ms", 4000, prepare=host.enter(group))
        flush = start("flush", "--file", f"{disk}/file", "--count", 20, "--bytes", 400_000, "--append", 1)
        lock = start("lock", "--threads", 3, "--hold-ms", 20, "--duration-ms", 4000)
        recorder = attach(host=True)
        before = throttled_ns(guest, group)
        for workload in (hog, flush, lock):
            workload.start()
        truths = [workload.truth() for workload in (hog, flush, lock)]
        throttled = throttled_ns(guest, group) - before
        recording = recorder.stop()
    assert recording.header.options.host and not recording.header.targets
    assert_closed(recording)
    assert_bounded(recording)

    # the hog: what its cgroup's quota took, as the kernel counts it
    hog_ns = spent_ns(recording, hog.pid, "runq.throttled")
    assert abs(hog_ns - throttled) <= NEAR * throttled, f"{hog_ns:,} {throttled:,}"
    made = reported(recording)
    assert consumers(made, "runq.throttled").consumers[0].pid == hog.pid
    assert consumers(made, "cpu.user").consumers[0].pid == hog.pid

    # the flusher, and the journal's own thread, a kernel thread, beside it
    flushed = consumers(made, "disk.flush")
    users = [each for each in flushed.consumers if not each.kernel]
    assert users[0].pid == flush.pid and users[0].comm == "flush"
    assert any(each.comm.startswith("jbd2/vdb") for each in flushed.consumers if each.kernel)
    waited = truths[1]["flush_ns"]
    around_ns = spent_ns(recording, flush.pid, "cpu.", "runq.")
    own_ns = spent_ns(recording, flush.pid, "disk.")
    assert own_ns <= (1 + NEAR) * waited and own_ns + around_ns >= (1 - NEAR) * waited, f"{own_ns:,} {waited:,}"

    # the lock: its waiters are named, and wait as long as they say
    locked = consumers(made, "lock.futex")
    assert locked.consumers[0].pid == lock.pid and locked.consumers[0].share > 0.95
    waited = truths[2]["wait_ns"]
    around_ns = spent_ns(recording, lock.pid, "cpu.", "runq.")
    assert locked.ns <= (1 + NEAR) * waited and locked.ns + around_ns >= (1 - NEAR) * waited, (
        f"{locked.ns:,} {waited:,}"
    )


def throttled_ns(guest: Guest, group: Any) -> int:
    lines = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines() if " " in line)
    return int(lines["throttled_usec"]) * 1000


@pytest.fixture
def alike(guest: Guest) -> Iterator[None]:
    """No session has a share of the CPUs of its own: threads count, wherever they were started."""
    setting = "/proc/sys/kernel/sched_autogroup_enabled"
    before = guest.run(f"cat {setting} 2>&1 || true")
    guest.try_run(f"echo 0 >{setting}")
    yield
    guest.try_run(f"echo {before} >{setting}")


def test_who_waits_behind_whom(guest: Guest, start: Any, attach: Any, alike: None) -> None:
    """One that hogs a CPU with three threads and one that wants the same: who waits, and behind whom."""
    hog = start("spin", "--threads", 3, "--duration-ms", 4000, "--cpu", 1)
    victim = start("spin", "--threads", 1, "--duration-ms", 4000, "--cpu", 1)
    recorder = attach(host=True)
    guest.run(f"printf g >{hog.folder}/in; printf g >{victim.folder}/in")  # together: to start one may take a second
    hog.truth()
    victim.truth()
    recording = recorder.stop()
    assert_closed(recording)
    made = reported(recording)
    queue = consumers(made, "runq.busy")
    assert [each.pid for each in queue.consumers if not each.kernel][:2] == [hog.pid, victim.pid]
    behind = {each.pid: each.ns for each in queue.behind}
    # each of four waits as long behind each of the others, and three of them are the hog's
    assert behind[hog.pid] / (behind[hog.pid] + behind[victim.pid]) == pytest.approx(0.75, abs=0.1)
    rows = rows_of(recording, victim.pid)
    waited_ns = sum(ns_of(row, "runq.busy") for row in rows)  # type: ignore[arg-type]
    ran_ns = sum(ns_of(row, "cpu.", "runq.") for row in rows)  # type: ignore[arg-type]
    assert waited_ns / ran_ns == pytest.approx(0.75, abs=0.1)


def test_who_hangs_before_the_window_is_met(guest: Guest, attach: Any) -> None:
    """A thread in a deep sleep has books, though it never runs: it writes to a frozen file system."""
    with slow(guest) as disk:
        guest.run(f"fsfreeze -f {disk}")
        try:
            script = f"touch {disk}/new & echo $!; until grep -q 'State:.D' /proc/$!/status; do sleep 0.1; done"
            pid = int(guest.run(f"({script}) 2>&1"))
            recording = attach(host=True, duration_ns=2_000_000_000).wait("duration")
        finally:
            guest.try_run(f"fsfreeze -u {disk}")
    rows = rows_of(recording, pid)
    hung_ns = sum(ns_of(row, "lock.kernel") for row in rows)  # type: ignore[arg-type]
    assert hung_ns >= 0.95 * 2_000_000_000, rows
    made = reported(recording)
    assert consumers(made, "lock.kernel").consumers[0].pid == pid


def test_recording_is_valid(guest: Guest, attach: Any) -> None:
    recording = attach(host=True, duration_ns=1_000_000_000).wait("duration")
    assert recording.header.options.host and not recording.header.targets
    assert recording.footer.lost["storage_failed"] == 0
    pid_of_recorder = [row for row in recording.of(schema.Process) if row.comm.startswith("perfdiag")]
    assert not pid_of_recorder, "its own cost stands in the footer"
