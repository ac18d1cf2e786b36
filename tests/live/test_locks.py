"""Locks between threads, between processes and inside the kernel; and what looks like one and is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from perfdiag.recording import schema
from perfdiag.report import account_tables
from perfdiag.report.stacks import waiting_code

from conftest import ROOT
from live.support import laws
from live.support.fixtures import Attach, Record, Start
from live.support.model import model_of
from live.support.recording import Recording, ns_of, table
from live.support.truth import assert_mostly, assert_waited
from unit.support.waiting import until


def workers(recording: Recording, pid: int) -> list[schema.Thread]:
    """Return the threads of a process without its leader, which only waits for them."""
    return [row for row in recording.of_process(pid) if row.tid != pid]


@pytest.mark.parametrize("mode", ["mutex", "rwlock"])
@pytest.mark.parametrize("stacks", [False, True])
def test_a_lock_held_20_of_21_ms(mode: str, stacks: bool, start: Start, record: Record) -> None:
    recording, truth = record(start("lock", "--mode", mode, "--duration-ms", 1500), stacks=stacks)
    threads = workers(recording, truth["pid"])
    assert len(threads) == truth["threads"]
    parked_ns = sum(ns_of(row, "wait.parked") for row in threads)
    around_ns = sum(ns_of(row, "cpu.", "runq.") for row in threads)
    assert truth["wait_ns"] - around_ns <= 1.05 * parked_ns and parked_ns <= 1.05 * truth["wait_ns"]
    futexes = [(row.tid, futex) for row in threads for futex in row.futexes]
    assert len(futexes) >= 2 and len({futex.object for _, futex in futexes}) == 1, futexes
    for tid, futex in futexes:
        assert futex.waker_tid in {other.tid for other in threads} - {tid}, futexes
    model = model_of(recording)
    lock_ns = model.accounts["lock.futex"].ns if "lock.futex" in model.accounts else 0
    assert abs(lock_ns - parked_ns) < 0.05 * parked_ns, f"{mode}: the lock was not recognised: {model.accounts}"


def test_who_holds_a_lock_long_is_named_not_who_hands_it_on(start: Start, record: Record) -> None:
    """Four threads that only touch the lock queue behind one that keeps it, and are woken by each other."""
    quick = ("--others-us", 10, "--hold-ms", 40, "--pause-ms", 60, "--held", "spin")
    recording, truth = record(start("lock", "--threads", 5, "--duration-ms", 3000, *quick))
    first = min(workers(recording, truth["pid"]), key=lambda row: row.tid)
    rows = [row for row in recording.details("wait.parked") if row.count > 5]  # of threads that live, and that ended
    assert rows and all(row.waker_tid == first.tid for row in rows), rows
    assert 2 * sum(row.waker_count for row in rows) > sum(row.count for row in rows), rows


@pytest.mark.parametrize("mode", ["condition", "semaphore"])
def test_an_idle_pool_waits_for_no_lock(mode: str, start: Start, record: Record) -> None:
    recording, truth = record(start("condition", "--mode", mode), stacks=True)
    threads = workers(recording, truth["pid"])
    assert len(threads) == truth["threads"]
    idle_ns = sum(ns_of(row, "wait.parked", "runq.") for row in threads)  # woken, they wait for a CPU of a busy host
    assert idle_ns > 0.95 * sum(row.wall_ns for row in threads)
    model = model_of(recording)
    # Woken together, the threads really meet at the mutex of their condition, for microseconds; the waits are no lock.
    assert model.ns("lock.futex") < 0.01 * model.parked_ns, model.accounts
    assert model.parked_ns > 0.9 * truth["idle_ns"]


@pytest.mark.parametrize("mode", ["flock", "fcntl"])
def test_a_file_lock(mode: str, tmp_path: Path, start: Start, record: Record) -> None:
    waiter = start("file_lock", "--mode", mode, "--file", tmp_path / "lock")
    recording, truth = record(waiter, only=True)
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["wait_ns"], "lock.file", waits=truth["count"], blocks=truth["blocks"])
    assert_mostly(thread, "lock.file")
    (row,) = recording.details("lock.file")
    assert row.object.split(":")[3] == str((tmp_path / "lock").stat().st_ino), row
    assert row.waker_tid != 0 and row.waker_count >= 0.8 * row.count, row


TAKERS = """
import fcntl, sys, threading, time
def take():
    while True:
        with open(sys.argv[1], "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            time.sleep(0.001)
for _ in range(3):
    threading.Thread(target=take).start()
"""
HOLDER = 'while sleep 0.01; do sh -c \'exec 9>"$0"; flock 9; exec sleep 0.3\' "$0"; done'


def test_who_queues_behind_a_process_outside_is_not_said_to_hold_the_lock_of_a_file(tmp_path: Path) -> None:
    """A command holds it through a descriptor that it inherited: who locked it has ended."""
    path = tmp_path / "lock"
    with (
        subprocess.Popen([sys.executable, "-c", TAKERS, path]) as takers,
        subprocess.Popen(["sh", "-c", HOLDER, path], start_new_session=True) as holder,
    ):
        try:
            program = ROOT / "build/bin/perfdiag"
            words = [program, "latency", "--json", "--duration", "3", "--pid", str(takers.pid)]
            run = subprocess.run(words, capture_output=True, text=True, timeout=60)
            own = {int(task.name) for task in Path(f"/proc/{takers.pid}/task").iterdir()}
        finally:
            takers.kill()
            os.killpg(holder.pid, signal.SIGKILL)
    made = json.loads(run.stdout)
    (found,) = (each for each in made["findings"] if each["id"] == "LOCK-CONTENTION")
    outside = ("no thread of the target", "outside the target")  # whoever runs the command at the time may be seen
    assert any(words in found["claim"] for words in outside) and "in turn" not in found["claim"], found
    released = [row["released_by"] for row in made["accounts"] if row["account"] == "lock.file"]
    assert not [each for each in released if each and each["tid"] in own], released


def test_a_timer_is_no_waker(start: Start, record: Record) -> None:
    """A timer that ends a sleep interrupts whoever runs: that thread, here one that only computes, woke nobody."""
    spinner = start("spin", "--threads", 4, "--duration-ms", 60_000)
    spinner.start()
    recording, _ = record(start("many_threads", "--threads", 7, "--period-ms", 5, "--duration-ms", 1500))
    rows = recording.details("wait.timer")
    assert sum(row.count for row in rows) > 500, rows
    assert all(row.waker_count <= 0.02 * row.count for row in rows), rows


def test_the_lock_of_an_address_space(start: Start, record: Record) -> None:
    """Threads that map and unmap wait for each other in the kernel: nothing of it may stay unexplained."""
    recording, truth = record(start("mmap_contention", "--threads", 4, "--duration-ms", 1500))
    threads = workers(recording, truth["pid"])
    lock_ns = sum(ns_of(row, "lock.kernel") for row in threads)
    wall_ns = sum(row.wall_ns for row in threads)
    assert lock_ns > 0.1 * wall_ns, "\n".join(map(table, threads))
    explained_ns = sum(ns_of(row, "cpu.", "runq.", "lock.kernel") for row in threads)
    assert explained_ns > 0.97 * wall_ns, "\n".join(map(table, threads)) + f"\n{recording.details('kernel.other')}"
    names = {row.object for row in recording.details("lock.kernel")}
    assert any("rwsem_down" in name or "mmap" in name for name in names), names


def blocked_on_futexes(pid: int) -> int:
    """Return how many threads of a process are parked now, as the kernel says."""
    return sum("futex" in wait.read_text() for wait in Path(f"/proc/{pid}/task").glob("*/wchan"))


@pytest.mark.parametrize("leader", ["joins", "exits"])
def test_a_deadlock_from_before_the_window(leader: str, start: Start, attach: Attach) -> None:
    """No switch of these threads is seen: their stacks are read at the end, also if their leader is a zombie."""
    workload = start("deadlock", "--leader", leader)
    workload.start()
    until(lambda: blocked_on_futexes(workload.pid) == 2 + (leader == "joins"), "all are parked")
    recorder = attach(workload, stacks=True)
    time.sleep(0.3)
    recording = recorder.stop()
    laws.check(recording)
    model = model_of(recording)
    wanted = {name for (account, _), name in waiting_code(model).items() if account in ("lock.futex", "wait.parked")}
    joined = {"pthread_join", "main (deadlock)"} if leader == "joins" else set()
    assert {"first_then_second (deadlock)", "second_then_first (deadlock)"} == wanted - joined
    assert {wait.comm for wait in account_tables.still_waiting(model)} == {"deadlock"}
    stacks = [stack for stack in recording.of(schema.Stack) if stack.kind == "wait"]
    assert all(stack.user and "(libc" in stack.user[0] for stack in stacks), stacks
    if any("lll_lock_wait" in stack.user[0] for stack in stacks):  # a C library with symbols proves it
        assert model.ns("lock.futex") > 1.9 * model.window_ns and len(account_tables.still_waiting(model)) == 2
