"""Threads that a virtual machine of Java stops: by who lets them go on, without names of functions."""

from __future__ import annotations

from perfdiag.recording.accounts import PARKED

from unit.support import Builder
from unit.support.jvm import BARRIER, OPERATION, VM_THREAD, S, java

SAFEPOINT = ("runtime.safepoint", "lock:safepoint:100")
MONITOR = "futex:0x9000"
EVENTS = ("futex:0x7000", "futex:0x7100", "futex:0x7200")
ENTERS = ["_ZN13ObjectMonitor5enterEP10JavaThread (libjvm.so)"]


def test_who_is_let_go_by_the_vm_thread_was_stopped() -> None:
    model = java(None, None, "3 s").model()
    assert model.ns("runtime.safepoint") == 6 * S and model.parked_ns == 0
    assert {(row.account, row.key) for row in model.rows_of("runtime.safepoint")} == {SAFEPOINT}
    assert {thread.comm: thread.ns("runtime.safepoint") for thread in model.threads if thread.tid in (101, 102)} == {
        "worker-101": 3 * S,
        "worker-102": 3 * S,
    }


def test_a_helper_thread_that_the_vm_thread_wakes_has_work() -> None:
    builder = java(None, None).thread("Reference Handl", tid=120)
    model = builder.row(PARKED, "futex:0x50", "9 s", count=3, waker_tid=VM_THREAD).model()
    assert model.ns("runtime.safepoint") == 0


def test_a_thread_whose_list_of_futexes_was_too_short() -> None:
    """Sums of the process have what found no place in the list."""
    builder = java(None, None, "3 s")
    builder._threads[-1]["futexes"].clear()
    builder._threads[-2]["futexes"].clear()
    assert builder.model().ns("runtime.safepoint") == 6 * S


def test_the_lock_of_operations_is_shared_with_the_vm_thread() -> None:
    builder = Builder(comm="java").thread("VM Thread", tid=VM_THREAD, rest="wait.work")
    builder.row(PARKED, OPERATION, "10 ms", count=3, waker_tid=101)
    builder.row(PARKED, "futex:0x60", "5 s", count=3, waker_tid=101)  # for the next operation
    builder.thread("Finalizer", tid=112, rest="wait.work")
    builder.thread("worker", tid=101).row(PARKED, OPERATION, "2 s", count=9, waker_tid=102)
    model = builder.model()
    assert model.ns("runtime.safepoint") == 2 * S + 10_000_000
    assert model.parked_ns == 5 * S


def test_a_thread_of_another_program_may_have_that_name() -> None:
    builder = Builder(comm="game").thread("VM Thread", tid=VM_THREAD)
    builder.thread("worker", tid=101).row(PARKED, BARRIER, "2 s", count=9, waker_tid=VM_THREAD)
    assert builder.model().parked_ns == 2 * S


def test_the_holder_of_a_monitor_who_is_stopped_is_no_root() -> None:
    builder = java(None, None, "1 s").thread("late", tid=103, rest="cpu.user")
    builder.row(PARKED, MONITOR, "2 s", count=9, waker_tid=101)
    builder.stack("wait", PARKED, tid=103, object=MONITOR, user=ENTERS, weight="1 s")
    builder.because(PARKED, MONITOR, "cpu.user", "2 s", steps=[PARKED], root_tid=VM_THREAD)
    builder.because(PARKED, BARRIER, "runq.busy", "1 s", root_tid=VM_THREAD)
    chains = {chain.account: chain for chain in builder.model().chains}
    assert (chains["lock.futex"].root, chains["lock.futex"].root_key) == SAFEPOINT
    assert chains["lock.futex"].steps == ()
    assert chains["runtime.safepoint"].root == "runq.busy", "that the VM Thread has no CPU is a cause of its own"


def bare() -> Builder:
    """Return a virtual machine without threads of the program."""
    builder = Builder(comm="java").thread("VM Thread", tid=VM_THREAD, rest="wait.work")
    return builder.thread("Finalizer", tid=112, rest="wait.work")


def handed_on(builder: Builder) -> Builder:
    """Three workers that each wait on a word of their own: the VM Thread ends the first wait, each worker the next."""
    for number, tid in enumerate((101, 102, 103)):
        builder.thread(f"worker-{tid}", tid=tid, rest="cpu.user")
        builder.row(PARKED, EVENTS[number], "2 s", count=9, waker_tid=tid - 1)
        steps = [PARKED] * number
        builder.because(PARKED, EVENTS[number], "cpu.user", "1900 ms", steps=steps, root_tid=VM_THREAD)
        builder.because(PARKED, EVENTS[number], "runq.busy", "100 ms", root_tid=tid - 1)
    return builder


def test_before_jdk_13_each_stopped_thread_waits_in_an_event_of_its_own() -> None:
    model = handed_on(bare()).model()
    assert model.ns("runtime.safepoint") == 6 * S and model.parked_ns == 0


def test_the_other_word_of_an_event_belongs_to_it() -> None:
    builder = handed_on(bare())
    builder.row(PARKED, "futex:0x7204", "1 s", count=9, waker_tid=102)
    assert builder.model().ns("runtime.safepoint") == 7 * S


def test_behind_a_stopped_holder_who_computes_a_thread_waits_for_its_lock() -> None:
    builder = handed_on(bare()).thread("worker-104", tid=104, rest="cpu.user")
    builder.row(PARKED, MONITOR, "2 s", count=9, waker_tid=101)
    builder.because(PARKED, MONITOR, "cpu.user", "1 s", steps=[PARKED], root_tid=VM_THREAD)
    builder.because(PARKED, MONITOR, "cpu.user", "1 s", root_tid=101)
    model = builder.model()
    assert model.ns("runtime.safepoint") == 6 * S and model.parked_ns == 2 * S


def test_where_all_threads_wait_on_one_word_none_has_an_event_for_stops() -> None:
    builder = java(None, None, "3 s").thread("worker-103", tid=103, rest="cpu.user")
    builder.row(PARKED, MONITOR, "2 s", count=9, waker_tid=101)
    builder.because(PARKED, MONITOR, "cpu.user", "2 s", steps=[PARKED], root_tid=VM_THREAD)
    model = builder.model()
    assert model.ns("runtime.safepoint") == 6 * S and model.parked_ns == 2 * S
