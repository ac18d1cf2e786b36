"""Ranked by root: a lock whose holder waits for a flush is the flush, the lock is its path."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import Diagnosis, diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Severity, is_elsewhere
from perfdiag.model.model import Model
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import check, finding, knowing

LOCK, FLUSH = "LOCK-CONTENTION", "DISK-FLUSH-SLOW"
FUTEX, DISK = "futex:0x7f00", "device:254:0"
SSD = disk("254:0", "vda", kind="physical", rotational=False)


def queue(waiters: int = 40, each: str = "7 s", service: str = "48 ms", wait: str = "50 ms") -> Builder:
    """Threads that wait for one lock, and one that has it and flushes: 40 times 7 s behind 7.5 s."""
    builder = Builder().thread("committer", tid=200, cpu_user="100 ms").row("disk.flush", DISK, durations={wait: 150})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=150, service=service)
    for tid in range(101, 101 + waiters):
        builder.thread("worker", tid=tid, cpu_user="10 ms", rest="wait.events")
        builder.row("lock.futex", FUTEX, each, count=100, waker_tid=200, waker_count=90)
    return builder


def on(builder: Builder) -> Model:
    return knowing(builder.model(), disks=disks(SSD))


def told(builder: Builder) -> Diagnosis:
    return diagnose(on(builder))


def named(found: Diagnosis, id: str) -> Finding | None:
    return next((each for each in found.findings if each.id == id), None)


def test_forty_waiters_behind_one_flush_are_the_flush() -> None:
    found = told(queue().because("lock.futex", FUTEX, "disk.flush", "270 s", DISK, root_tid=200))
    first = found.findings[0]
    assert first.id == FLUSH and first.severity is Severity.WARNING
    assert first.claims["lock.futex", FUTEX] == 270_000_000_000 and first.share > 0.9
    assert "Others waited 270 s behind that (mostly lock.futex -> disk.flush 254:0)" in first.claim
    assert named(found, LOCK) is None, "the lock is how they wait"
    assert LOCK in {each.id for each in found.superseded}


def calling_under_a_lock(account: str, root: str, behind: str = "3 s") -> Builder:
    """One thread at a time has the lock of a file and calls a peer that takes 30 ms; the others wait for the lock."""
    builder = Builder().thread("worker", tid=101, cpu_user="100 ms", rest="wait.events")
    builder.row(account, root, durations={"30 ms": 100})
    builder.thread("worker", tid=102, cpu_user="100 ms", rest="wait.events").row("lock.file", SESSION, behind)
    return builder.because("lock.file", SESSION, account, behind, root, root_tid=101)


SESSION, PEER = "file:254:0:794623:sess_abc", "peer:10.0.0.5:5432"


def test_a_lock_that_is_held_during_calls_acquits_nobody_and_is_to_be_released() -> None:
    """The peer is as slow for a target without the lock, where nobody waits behind it."""
    model = calling_under_a_lock("net.receive", PEER).model()
    first = diagnose(model).findings[0]
    assert first.id == "NET-PEER-SLOW" and first.is_root and not is_elsewhere(first)
    assert "lock on sess_abc" in first.remedies[0].text and "3.00 s" in first.remedies[0].text
    assert "sess_abc" in first.headline
    assert decide(model, diagnose(model)).kind == "cause"


def test_a_lock_that_is_hardly_waited_for_leaves_the_peer_alone() -> None:
    model = calling_under_a_lock("net.receive", PEER, behind="100 ms").model()
    first = diagnose(model).findings[0]
    assert first.id == "NET-PEER-SLOW" and is_elsewhere(first)
    assert "lock" not in first.headline + first.remedies[0].text


def test_who_waits_for_room_waits_there_without_the_lock_too() -> None:
    first = diagnose(calling_under_a_lock("net.send", PEER).model()).findings[0]
    assert first.id == "NET-PEER-SLOW" and first.is_root and is_elsewhere(first)


def test_what_lies_on_several_ways_is_not_said_to_lie_on_one() -> None:
    builder = queue()
    for steps in (["ipc.pipe"], ["ipc.unix"], ["lock.file"]):
        builder.because("lock.futex", FUTEX, "disk.flush", "90 s", DISK, steps=steps)
    claim = told(builder).findings[0].claim
    assert "270 s behind that (most often lock.futex -> " in claim


def test_without_chains_the_lock_is_all_that_is_known() -> None:
    found = told(queue())
    assert found.findings[0].id == LOCK and not any("->" in each.claim for each in found.findings)


def test_a_flush_as_fast_as_its_disk_can_leaves_the_lock_what_is_its() -> None:
    fast = queue(service="300 us", wait="400 us").because("lock.futex", FUTEX, "disk.flush", "270 s", DISK)
    assert told(fast).findings[0].id == LOCK


def test_another_disk_is_another_root() -> None:
    found = told(queue().because("lock.futex", FUTEX, "disk.flush", "270 s", "device:8:0"))
    assert found.findings[0].id == LOCK
    assert not any(claim[0] == "lock.futex" for each in found.findings if each.id == FLUSH for claim in each.claims)


def test_who_computes_with_the_lock_is_no_other_cause() -> None:
    found = told(queue().because("lock.futex", FUTEX, "cpu.user", "270 s"))
    assert found.findings[0].id == LOCK


def test_only_waits_that_count_are_claimed() -> None:
    """A parent is idle while it waits for its child: no share counts that."""
    parent = queue(0).thread("parent", tid=300, cpu_user="10 ms").row("wait.child", "", "7 s")
    found = told(parent.because("wait.child", "", "disk.flush", "7 s", DISK))
    assert {claim if isinstance(claim, str) else claim[0] for claim in found.findings[0].claims} == {"disk.flush"}


def test_shares_are_those_of_one_time() -> None:
    found = told(queue().because("lock.futex", FUTEX, "disk.flush", "270 s", DISK))
    model = on(queue())
    assert sum(each.claimed_ns for each in found.findings) + found.unclaimed_ns == model.busy_ns


# What LOCK-CONTENTION says of a holder that was seen.


def test_what_the_holder_was_in_is_seen_not_guessed() -> None:
    """Its ledger says that it computes most of all; while others waited it flushed."""
    builder = Builder().thread("committer", tid=200, cpu_user="8 s", disk_flush="2 s")
    for tid in range(101, 105):
        builder.thread("worker", tid=tid, cpu_user="1 s")
        builder.row("lock.futex", FUTEX, "2 s", count=100, waker_tid=200, waker_count=90)
    guessed = finding(builder.model(), LOCK)
    assert "disk.flush" not in guessed.claim and guessed.confidence is Confidence.MEDIUM
    found = finding(builder.because("lock.futex", FUTEX, "disk.flush", "7800 ms", DISK).model(), LOCK)
    assert "its holder, committer (200), mostly waits until data is on disk (disk.flush)" in found.claim
    assert found.confidence is Confidence.HIGH
    assert any("98 %" in each.text and each.probe == "sched_waking" for each in found.evidence), found.evidence


def test_nearly_half_is_no_root() -> None:
    model = on(
        queue(4)
        .because("lock.futex", FUTEX, "disk.flush", "13 s", DISK)
        .because("lock.futex", FUTEX, "runq.busy", "12 s")
        .because("lock.futex", FUTEX, "net.receive", "3 s", "peer:10.0.0.1:5432")
    )
    assert "root" not in finding(model, LOCK).claim


def test_a_holder_that_waits_for_another_lock_is_told_as_that() -> None:
    other = "futex:0x7f40"
    builder = queue(4).thread("first", tid=300, cpu_user="1 s").row("lock.futex", other, "10 ms")
    found = finding(on(builder.because("lock.futex", FUTEX, "lock.futex", "27 s", other)), LOCK)
    assert "waits for another lock (futex 0x7f40)" in found.claim


@pytest.mark.parametrize("seen", ["", "20 s"])
def test_where_most_was_not_seen_the_ledger_has_to_do(seen: str) -> None:
    """Of 28 s of waiting nothing, or 20 s, has a known root: not enough to speak for all of it."""
    builder = queue(4)
    if seen:
        builder.because("lock.futex", FUTEX, "runq.busy", seen)
    found = finding(on(builder), LOCK)
    assert "disk.flush" in found.claim
    assert any("whole window" in limit for limit in found.limits)


def test_small_locks_stay_fine() -> None:
    model = on(queue(4, each="1 ms").because("lock.futex", FUTEX, "disk.flush", "4 ms", DISK))
    assert "locks" in check(model, LOCK).text


@pytest.mark.parametrize(("account", "object"), [("ipc.pipe", "pipe:5"), ("ipc.unix", "unix:101:rsync")])
def test_processes_that_wait_for_who_reads_wait_for_its_reads(account: str, object: str) -> None:
    """Though the reads are no fault: at a pipe, unlike at a lock, there is nothing else to improve."""
    builder = Builder().thread("sender", tid=100, cpu_user="100 ms").row("disk.read", DISK, durations={"1 ms": 4000})
    builder.device("254:0", "read", count=4000, service="1 ms")
    builder.thread("receiver", tid=101, cpu_user="10 ms").row(account, object, "6 s", waker_tid=100, waker_count=100)
    first = told(builder.because(account, object, "disk.read", "5.5 s", DISK, root_tid=100)).findings[0]
    assert first.id == "DISK-READ-SLOW" and first.is_root and first.claims[account, object] == 5_500_000_000, first


def test_processes_that_wait_for_who_sleeps_are_no_part_of_its_sleep() -> None:
    builder = Builder().thread("clock", tid=100, cpu_user="10 ms").row("wait.timer", "", "9 s", count=400)
    builder.thread("worker", tid=101, cpu_user="10 ms").row("ipc.pipe", "pipe:5", "8 s", waker_tid=100, waker_count=100)
    found = told(builder.because("ipc.pipe", "pipe:5", "wait.timer", "8 s", root_tid=100))
    assert not any(each.is_root for each in found.findings), found.findings
    assert named(found, "IPC-PEER-SLOW"), found.findings
