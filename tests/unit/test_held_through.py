"""Locks whose waits end by a timeout: what their holder waits for is inferred, or left open."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.locks.held_through import held_through
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import knowing

LOCK, CONDITION, DISK = "futex:0x7f00", "futex:0x9000", "device:254:0"
SSD = disk("254:0", "vda", kind="physical", rotational=False)
S = 1_000_000_000


def stalled(*, cpu: str = "20 ms", flushing: str = "7 s") -> Builder:
    """Twenty threads wait 5 s each for a lock, which one after the other holds while it waits for a flusher."""
    builder = Builder().thread("flusher", tid=200, cpu_user="100 ms").row("disk.flush", DISK, durations={"50 ms": 150})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=150, service="48 ms")
    for tid in range(101, 121):
        builder.thread("worker", tid=tid, cpu_user=cpu, rest="wait.events")
        builder.row("lock.futex", LOCK, "5 s", count=1000).row("wait.parked", CONDITION, "350 ms", count=7)
    return builder.because("wait.parked", CONDITION, "disk.flush", flushing, DISK, root_tid=200, inside=True)


def model(builder: Builder) -> Model:
    return knowing(builder.model(), disks=disks(SSD))


def test_who_takes_the_lock_hardly_runs_and_waits_for_one_thing() -> None:
    (chain,) = held_through(model(stalled()))
    assert (chain.account, chain.key, chain.steps, chain.root) == ("lock.futex", LOCK, ("wait.parked",), "disk.flush")
    # Of 100 s of waiting, but for what the takers can have run with the lock: 0.4 s beside 7 s.
    assert abs(chain.ns - 100 * S * 7 / 7.4) < S
    first = diagnose(model(stalled())).findings[0]
    assert first.id == "DISK-FLUSH-SLOW" and first.severity is Severity.WARNING
    assert first.confidence is Confidence.MEDIUM and "was not seen" in first.limits[-1]
    assert first.claims["lock.futex", LOCK] == chain.ns


def test_threads_that_compute_may_hold_it_for_that() -> None:
    assert not held_through(model(stalled(cpu="150 ms"))), "3 s of 5 s"


def test_waits_too_short_to_hold_it_so_long_are_not_why() -> None:
    assert not held_through(model(stalled(flushing="4 s")))


def test_waits_that_overlap_are_made_without_the_lock() -> None:
    assert not held_through(model(stalled(flushing="14 s"))), "one thread has it at a time, for 10 s"


def test_waits_for_several_things_cannot_be_told_apart() -> None:
    assert not held_through(
        model(stalled().because("wait.parked", CONDITION, "net.receive", "2 s", "peer:10.0.0.5:5432", inside=True))
    )


def test_a_holder_that_was_seen_needs_no_inference() -> None:
    assert not held_through(model(stalled().because("lock.futex", LOCK, "cpu.user", "60 s", root_tid=101)))
