"""A lock of readers and writers whose readers overlap: who writes waits for longer than any of them has it."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.locks.overlapping_readers import overlaps
from perfdiag.diagnosis.rule import Finding, Severity

from unit.support import Builder

FUTEX, PEER = "futex:0x7f08", "peer:10.0.0.5:80"
# As recorded of a writer: a name that an earlier call left stands first.
WRITES = ["_M_replace (libstdc++.so.6)", "pthread_rwlock_wrlock (libc.so.6)", "serve (style)"]


def map_service(
    *,
    waits: str = "180 ms",
    takes: list[str] = WRITES,
    reader_waits: str = "0 s",
    steps: tuple[str, ...] = (),
    readers: int = 3,
) -> Builder:
    """Three threads ask a peer, which takes 20 ms, under a lock; another one waits for that lock, 10 times."""
    builder = Builder().thread("server", tid=100, cpu_user="20 ms", rest="net.accept")
    builder.row("lock.futex", FUTEX, durations={waits: 10}, waker_tid=101, waker_count=9)
    for tid in range(101, 101 + readers):
        builder.thread("reader", tid=tid, cpu_user="20 ms", rest="wait.timer")
        builder.row("net.receive", PEER, durations={"20 ms": 300})
        if reader_waits != "0 s":
            builder.row("lock.futex", FUTEX, reader_waits, count=100)
    builder.stack("wait", "lock.futex", object=FUTEX, user=["__futex_abstimed_wait_common (libc.so.6)"], scan=takes)
    return builder.because("lock.futex", FUTEX, "net.receive", "1500 ms", PEER, root_tid=101, steps=steps)


def told(builder: Builder, id: str) -> Finding | None:
    return next((each for each in diagnose(builder.model()).findings if each.id == id), None)


def test_writers_that_wait_for_several_readers_in_turn_wait_for_the_lock() -> None:
    found = told(map_service(), "LOCK-CONTENTION")
    assert found and found.severity is Severity.WARNING and found.claims == {("lock.futex", FUTEX): 1_800_000_000}
    assert (
        "9 times as long" in found.claim
        and "For 94 % of the time at least one of 3 readers" in found.claim
        and "not the lock" not in found.claim
    )
    assert "PTHREAD_RWLOCK_PREFER_WRITER" in found.remedies[0].text and "serve (style)" in found.remedies[0].text
    assert "waiting for a peer" in found.remedies[1].text


def test_the_peer_of_one_reader_is_not_what_they_wait_for() -> None:
    peer = told(map_service(), "NET-PEER-SLOW")
    assert peer and set(peer.claims) == {("net.receive", PEER)} and "hold" not in peer.headline


@pytest.mark.parametrize(
    "unlike",
    [
        map_service(waits="20 ms"),  # of a lock that prefers writers
        map_service(takes=["pthread_mutex_lock (libc.so.6)", "serve (style)", *WRITES]),
        map_service(takes=["pthread_rwlock_rdlock (libc.so.6)", "serve (style)"]),
        map_service(reader_waits="3 s"),  # each stands in the queue, which may be what takes so long
        map_service(steps=("ipc.pipe",)),
        map_service(readers=1),  # as of a cache that is sent to a slow client, piece by piece
    ],
    ids=["as long as one", "a mutex", "who reads", "a queue", "behind another thread", "several at a time"],
)
def test_a_wait_that_one_holder_explains_is_that_holders(unlike: Builder) -> None:
    assert not overlaps(unlike.model())
    peer = told(unlike, "NET-PEER-SLOW")
    assert peer and ("lock.futex", FUTEX) in peer.claims


def test_readers_that_wait_for_other_things_too_may_have_no_lock_then() -> None:
    builder = map_service().thread("caller", tid=104, cpu_user="20 ms", rest="wait.timer")
    assert not overlaps(builder.row("net.receive", "peer:10.0.0.9:80", durations={"20 ms": 200}).model())


def test_readers_that_compute_have_no_length_to_compare_with() -> None:
    builder = map_service()
    builder.because("lock.futex", FUTEX, "cpu.user", "1700 ms", root_tid=101)
    assert not overlaps(builder.model())
