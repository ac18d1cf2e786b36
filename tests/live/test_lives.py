"""Threads and processes that are born, replaced, stopped, that sleep through it all, and that die."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from perfdiag.facts.host_facts import Facts
from perfdiag.model.stacks.symbols import symbol_of
from perfdiag.recording import schema

from live.support import laws
from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.recording import count_of, ns_of, table
from live.support.workload import WORKLOADS, Workload
from unit.support.waiting import until

MILLISECOND = 1_000_000
MEBIBYTE = 1 << 20

# What each thread of the workload `sleeper` waits for, from before the start to after the end.
SLEEPERS = {
    "in-nanosleep": {"wait.timer"},
    "in-epoll": {"wait.events"},
    "in-poll": {"wait.events"},
    "in-select": {"wait.events"},
    "in-empty-poll": {"wait.timer"},
    "in-empty-select": {"wait.timer"},
    "in-pipe": {"ipc.pipe"},
    "in-unix": {"ipc.unix"},
    "in-tcp": {"net.receive"},
    "in-accept": {"net.accept"},
    "in-eventfd": {"wait.events", "kernel.other"},
    "in-inotify": {"wait.events"},
    "in-signal": {"wait.signal"},
    "in-futex": {"wait.parked"},
    "in-timed-futex": {"wait.parked"},
    "in-flock": {"lock.file"},
    "in-message": {"wait.parked"},
    "in-child": {"wait.child"},
}


def all_sleep(sleeper: Workload) -> bool:
    """Return whether each of its threads does."""
    return {name for name, state in sleeper.states().items() if state == "S"} >= SLEEPERS.keys()


@pytest.mark.parametrize("stopped_before", [False, True])
def test_sleepers_are_shown_and_closed(stopped_before: bool, start: Start, attach: Attach) -> None:
    """A thread without one switch in the whole window: still waiting, since at least the start, and in what.

    What was stopped is in restart_syscall then, if its call has a timeout.
    """
    sleeper = start("sleeper")
    until(lambda: all_sleep(sleeper), "all sleep")
    if stopped_before:
        os.kill(sleeper.pid, signal.SIGSTOP)
        until(lambda: set(sleeper.states().values()) == {"T"}, "all are stopped")
        os.kill(sleeper.pid, signal.SIGCONT)
        until(lambda: all_sleep(sleeper), "all sleep again")
    recorder = attach(sleeper, only=True)
    time.sleep(1.1)
    recording = recorder.stop()
    laws.check(recording)
    rows = {row.comm: row for row in recording.threads}
    assert rows.keys() >= SLEEPERS.keys(), rows.keys()
    window_ns = recording.footer.at_ns - recording.header.start_ns
    for name, accounts in SLEEPERS.items():
        row = rows[name]
        assert row.open is not None and row.open.account in accounts, (name, row)
        assert ns_of(row, row.open.account) >= 0.99 * row.wall_ns, table(row)
        assert row.wall_ns > 0.95 * window_ns and row.state == "alive", (window_ns, table(row))
        assert row.open.since_ns <= row.start_ns + MILLISECOND, row
    # What these wait for only their callers tell, and no switch of theirs gave a stack.
    for name in ("in-nanosleep", "in-epoll", "in-poll", "in-select", "in-empty-poll", "in-empty-select"):
        stacks = [stack for stack in recording.of(schema.Stack) if stack.tid == rows[name].tid]
        called = {symbol_of(frame) for stack in stacks for frame in stack.scan}
        assert "sleep_its_way" in called, (name, stacks)
        assert sum(stack.weight_ns for stack in stacks) >= 0.99 * rows[name].wall_ns, (name, stacks)
    assert rows["in-message"].open and rows["in-message"].open.object == "syscall:mq_timedreceive", rows["in-message"]


# As many generations, each a process that waits for its child.
GENERATIONS = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    if os.fork():
        os.wait()
        os._exit(0)
print(0, flush=True)
time.sleep(60)
"""


def test_descendants_are_followed_at_any_depth(attach: Attach, cleanup: Cleanup) -> None:
    pid, _ = cleanup.enter_context(running_server(GENERATIONS, 40))
    recording = attach(pid, duration_ns=300 * MILLISECOND).wait()
    assert len({row.pid for row in recording.threads}) == 41
    laws.check(recording)


def test_two_callers_of_one_wait_are_told_apart(start: Start, record: Record) -> None:
    """Frames of both may be cut short and alike: what was scanned tells them apart, and each keeps its own."""
    recording, truth = record(start("callers"), stacks=True)
    waits: Counter[str] = Counter()
    for stack in recording.of(schema.Stack):
        if stack.account != "wait.events":  # on the stack of another wait names of earlier calls may be left
            continue
        called = {symbol_of(frame) for frame in stack.scan} & {"for_lock", "for_client"}
        assert len(called) <= 1, stack
        waits.update(dict.fromkeys(called, stack.count))
    assert 0.9 * truth["count"] <= waits["for_client"] <= 1.1 * truth["count"], waits
    assert 2.7 * truth["count"] <= waits["for_lock"] <= 3.3 * truth["count"], waits


def test_short_lived_children(start: Start, record: Record) -> None:
    recording, truth = record(start("fork_tree", "--count", 97))
    assert truth["failed"] == 0
    folds = {row.comm: row for row in recording.folds}
    rows = [row for row in recording.threads if row.pid != truth["pid"]]
    born = len(rows) + sum(fold.threads for fold in folds.values())
    assert born == 97, (born, folds.keys())
    assert "true" in folds, "short lives are folded by executable"
    ended = sum(fold.processes for fold in folds.values()) + len({row.pid for row in rows})
    assert ended == 97
    execs = [event for event in recording.of(schema.Event) if "exec" in event.name]
    assert len(execs) == 97, len(execs)
    assert count_of(recording.thread(truth["pid"]), "wait.child") <= 97


def test_children_of_children(start: Start, record: Record) -> None:
    recording, truth = record(start("fork_tree", "--count", 5, "--depth", 7))
    assert recording.footer.threads_seen == 1 + truth["processes"] == 36


def test_a_target_that_ends_at_once(start: Start, record: Record) -> None:
    """The process asked for has a row of its own; a child that lived as short is folded."""
    recording, truth = record(start("fork_tree", "--count", 1))
    target = recording.thread(truth["pid"])
    assert target.wall_ns < 100 * MILLISECOND, table(target)
    assert target.state == "exited" and count_of(target, "wait.child") == 1, table(target)


def test_only_the_named_process(start: Start, record: Record) -> None:
    recording, truth = record(start("fork_tree", "--count", 11), only=True)
    assert recording.footer.threads_seen == 1
    assert not recording.header.options.descendants
    assert {row.pid for row in recording.threads} == {truth["pid"]}


def test_threads_that_come_and_go(start: Start, record: Record) -> None:
    recording, truth = record(start("thread_churn", "--count", 211))
    assert recording.footer.threads_seen == 212
    asleep_ns = sum(ns_of(row, "wait.timer") for row in recording.books)
    around_ns = sum(ns_of(row, "runq.", "cpu.") for row in recording.books)
    assert asleep_ns <= 1.05 * truth["asleep_ns"] and asleep_ns + around_ns >= 0.95 * truth["lived_ns"]


def test_exec_by_a_thread(start: Start, attach: Attach) -> None:
    """The thread that calls exec takes over the leader's tid; both have their own books."""
    workload = start("thread_exec", "--before-ms", 300, "--after-ms", 400)
    recorder = attach(workload)
    truth = workload.run()
    recording = recorder.wait("targets gone")
    laws.check(recording)
    assert truth["pid"] == workload.pid
    assert recording.footer.threads_seen == 5
    execs = [event for event in recording.of(schema.Event) if "exec" in event.name]
    assert [event.pid for event in execs] == [workload.pid]
    heir = max((row for row in recording.threads if row.tid == workload.pid), key=lambda row: row.at_ns)
    assert ns_of(heir, "cpu.", "runq.") > 290 * MILLISECOND and ns_of(heir, "cpu."), table(heir)
    assert ns_of(heir, "wait.timer") > 0.95 * truth["slept_ns"], table(heir)


def test_a_command_that_another_becomes(start: Start, record: Record, tmp_path: Path) -> None:
    """What waits for its start waits for events, not at a pipe; the books go on where the command begins."""
    options = ("--mode", "none", "--compute-us", 9_700, "--file", tmp_path / "data")
    recording, truth = record(start("begin", "--", WORKLOADS / "flush", *options))
    thread = recording.thread(truth["pid"])
    assert [event.pid for event in recording.of(schema.Event) if "exec" in event.name] == [truth["pid"]]
    assert ns_of(thread, "wait.events") and not ns_of(thread, "ipc."), table(thread)
    assert ns_of(thread, "cpu.user", "cpu.kernel") >= 0.95 * 23 * 9_700_000, table(thread)


def test_a_leader_that_ends_first(start: Start, record: Record) -> None:
    recording, truth = record(start("zombie_leader", "--duration-ms", 900, "--leader-ms", 300))
    assert recording.footer.threads_seen == 4
    leader = recording.thread(truth["pid"])
    assert leader.state == "exited" and leader.wall_ns > 290 * MILLISECOND, table(leader)
    others = [row for row in recording.threads if row.tid != truth["pid"]]
    assert leader.at_ns < min(row.at_ns for row in others), table(leader)
    asleep_ns = sum(ns_of(row, "wait.timer") for row in others)
    around_ns = sum(ns_of(row, "runq.", "cpu.") for row in others)  # for the workload, part of its sleep
    assert asleep_ns <= 1.05 * truth["slept_ns"] and asleep_ns + around_ns >= 0.95 * truth["slept_ns"]


def test_a_zombie_leader_from_before(start: Start, attach: Attach) -> None:
    """Attached when the leader is a zombie already: the living threads are recorded."""
    workload = start("zombie_leader", "--duration-ms", 60_000, "--leader-ms", 100)
    workload.start()
    until(lambda: workload.status("State") == "Z", "the leader has ended")
    recorder = attach(workload)
    time.sleep(0.6)
    recording = recorder.stop()
    laws.check(recording)
    assert len([row for row in recording.threads if row.open and row.open.account == "wait.timer"]) == 3


def test_a_stopped_process_with_a_zombie_leader(start: Start, attach: Attach) -> None:
    """/proc/PID/status is that of the leader: State Z says nothing of the process."""
    workload = start("zombie_leader", "--duration-ms", 60_000, "--leader-ms", 100)
    workload.start()
    until(lambda: workload.status("State") == "Z", "the leader has ended")
    recorder = attach(workload)
    os.kill(workload.pid, signal.SIGSTOP)
    recording = recorder.stop()
    os.kill(workload.pid, signal.SIGCONT)
    assert Facts.parse(recording.of(schema.Fact)).processes[workload.pid].state == "T"


def test_a_stopped_process(start: Start, attach: Attach) -> None:
    target = start("spin", "--duration-ms", 60_000)
    target.start()
    recorder = attach(target)
    target.await_threads(2)
    told_ns = time.monotonic_ns()
    os.kill(target.pid, signal.SIGSTOP)
    until(lambda: stopped(target.pid) == {True}, "all threads are stopped")
    stopped_ns = time.monotonic_ns()
    time.sleep(0.8)
    least_ns = time.monotonic_ns() - stopped_ns
    os.kill(target.pid, signal.SIGCONT)
    until(lambda: stopped(target.pid) == {False}, "no thread is stopped")
    most_ns = time.monotonic_ns() - told_ns
    recording = recorder.stop()
    laws.check(recording)
    for row in recording.of_process(target.pid):
        assert 0.95 * least_ns < ns_of(row, "wait.stopped") < 1.05 * most_ns, (least_ns, most_ns, table(row))


def stopped(pid: int) -> set[bool]:
    """Return which there are of a process: threads that are stopped, and threads that are not."""
    return {") T " in stat.read_text() for stat in Path(f"/proc/{pid}/task").glob("*/stat")}


def test_a_tid_that_is_used_again(start: Start, record: Record) -> None:
    """Threads that had the same tid, one after the other, are threads with their own books."""
    recording, truth = record(start("tid_reuse", "--count", 5, "--live-ms", 20))
    assert truth["reused"] == 5, "no tid was used again: nothing was tested"
    rows = [row for row in recording.threads if row.tid == truth["child"]]
    assert len(rows) == 6 and len({row.serial for row in rows}) == 6, rows
    for row in rows:
        assert 19e6 < ns_of(row, "wait.timer") < row.wall_ns < 200e6 + ns_of(row, "runq."), table(row)


def test_pids_of_a_namespace(start: Start, attach: Attach) -> None:
    """Both numbers of a thread are shown: the one of this host and the one inside its pid namespace."""
    inside = start("sleeper", wrapper=["unshare", "--pid", "--fork", "--kill-child"])
    assert inside.pid != inside.ready["pid"]
    recorder = attach(inside)
    time.sleep(0.3)
    truth = inside.run()
    recording = recorder.wait("targets gone")
    laws.check(recording)
    (leader,) = [row for row in recording.threads if row.tid == inside.pid]
    assert leader.namespace_tid == inside.ready["pid"] == truth["pid"], leader
    assert [target.namespace_pid for target in recording.header.targets if target.pid == inside.pid] == [truth["pid"]]


def test_hostile_names(start: Start, record: Record) -> None:
    """Control characters, quotes and bytes that are no UTF-8 in a name: every line stays one line of valid JSON."""
    recording, truth = record(start("names"))
    raw = recording.path.read_bytes()
    raw.decode("utf-8")
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", raw), "control characters in the recording"
    comms = {row.comm for row in recording.of_process(truth["pid"])}
    assert {"\x1b[31mred\x1b[0m", "a\nb\rc\td", '"quote\\back', "[bold]x[/bold]", "", "ok"} <= comms, comms


def test_a_thousand_threads(start: Start, attach: Attach) -> None:
    """Memory of the recorder: under 16 MB for 1,000 threads; the growth per thread is printed."""
    resident = {}
    for threads in (11, 1009):
        workload = start("many_threads", "--threads", threads, "--duration-ms", 60_000)
        workload.start()
        workload.await_threads(threads + 1)
        recorder = attach(workload, interval_ms=250)
        time.sleep(1.5)
        resident[threads] = recorder.resident_bytes()
        recording = recorder.stop()
        laws.check(recording)
        assert recording.footer.threads_seen == threads + 1
        workload.__exit__(None, None, None)
    growth = (resident[1009] - resident[11]) / (1009 - 11)
    print(f"recorder: {resident[1009]:,} bytes for 1,009 threads, {growth:,.0f} bytes more per thread")
    assert resident[1009] < 16 * MEBIBYTE, resident


def test_ten_thousand_threads(start: Start, attach: Attach) -> None:
    workload = start("many_threads", "--threads", 10_007, "--duration-ms", 60_000)
    recorder = attach(workload)
    workload.start()
    workload.await_threads(10_008)
    complete_ns = time.monotonic_ns()
    time.sleep(2)
    together_ns = time.monotonic_ns() - complete_ns
    recording = recorder.stop()
    laws.check(recording)
    assert recording.footer.threads_seen == 10_008
    assert recording.wall_ns > 0.95 * together_ns * 10_008
    assert recording.footer.lost["detail_full"] == 0 and recording.footer.lost["snapshots_torn"] == 0


def test_file_descriptors_that_run_out(start: Start, record: Record) -> None:
    """EMFILE was seen: it stands in the recording as an event or as an operation's errors."""
    recording, truth = record(start("fd_leak", "--limit", 256, "--attempts", 300))
    assert truth["refused"] > 0
    facts = [fact for fact in recording.of(schema.Fact) if fact.path.endswith("/limits") or "/fd" in fact.path]
    assert facts, "neither the limit of descriptors nor their number was recorded"


# Ten thousand threads that wait for ever, then one that computes; prints its tid as if it were a port.
MANY = """
import threading, time
threading.stack_size(65536)
never = threading.Event()
for _ in range(10_020):
    threading.Thread(target=never.wait, daemon=True).start()
def compute():
    print(threading.get_native_id(), flush=True)
    while True:
        sum(range(1000))
threading.Thread(target=compute, daemon=True).start()
never.wait()
"""


def test_of_many_threads_who_works_has_a_row(attach: Attach) -> None:
    """The first 10,000 had one each, and the only one that did something, made last, had none."""
    with running_server(MANY) as (pid, tid):
        recording = attach(pid, only=True, duration_ns=700_000_000).wait()
    laws.check(recording)
    (busy,) = [row for row in recording.of_process(pid) if row.tid == tid]
    assert ns_of(busy, "cpu.", "runq.") > 0.9 * busy.wall_ns, table(busy)
