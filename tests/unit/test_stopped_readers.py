"""Requests that lie unread while their readers are stopped, or wait for a thread that is."""

from __future__ import annotations

from perfdiag.model.builder import build
from perfdiag.model.requests.stopped_readers import with_stops
from perfdiag.model.waits.futexes import Futexes
from perfdiag.recording.accounts import PARKED

from unit.support.exchanges import unread
from unit.support.jvm import BARRIER, VM_THREAD, S, java

POOL = "futex:0x9900"
LINES = unread({(PARKED, "cpu.user"): 5 * S, (PARKED, "disk.flush"): S, ("cpu.user", "cpu.user"): S})


def stopped(root_tid: int, steps: int = 1) -> list[tuple[str, str]]:
    """Return account and root of unread requests, whose reader waits for a thread that waits for `root_tid`."""
    builder = java(None, None, "4 s").thread("pool", tid=103, rest="wait.events")
    builder.row(PARKED, POOL, "5 s", count=20, waker_tid=101)
    builder.because(PARKED, POOL, "cpu.user", "3 s", steps=[PARKED] * steps, root_tid=root_tid)
    builder.because(PARKED, BARRIER, "cpu.user", "1 s", root_tid=VM_THREAD)
    recording = builder.recording()
    accounts = dict(build(recording).accounts)
    found = with_stops(LINES, recording.because, Futexes(recording), accounts)
    return [(line.account, line.root) for line in found]


def test_a_reader_behind_the_vm_thread_is_stopped() -> None:
    stop = ("runtime.safepoint", "runtime.safepoint")
    assert stopped(VM_THREAD) == [stop, (PARKED, "disk.flush"), ("cpu.user", "cpu.user")]


def test_a_reader_behind_a_thread_of_the_program_is_not() -> None:
    assert stopped(101)[0] == (PARKED, "cpu.user")


def test_the_end_of_a_way_that_is_too_long_is_not_believed() -> None:
    """The thread at its end may be one in between: the other waits tell."""
    assert stopped(101, steps=3)[0] == ("runtime.safepoint", "runtime.safepoint")


def test_short_waits_for_whoever_hands_out_work_say_nothing_of_long_ones() -> None:
    """A pool that waits for its dispatcher between all requests, and for a collection now and then."""
    builder = java(None, None, "4 s").thread("pool", tid=103, rest="wait.events")
    builder.row(PARKED, POOL, "5 s", count=3000, waker_tid=101)
    builder.because(PARKED, POOL, "cpu.user", "3 s", count=3000, root_tid=101)
    builder.because(PARKED, BARRIER, "cpu.user", "1 s", count=5, root_tid=VM_THREAD)
    recording = builder.recording()
    found = with_stops(LINES, recording.because, Futexes(recording), dict(build(recording).accounts))
    assert (found[0].account, found[0].root) == ("runtime.safepoint", "runtime.safepoint")
