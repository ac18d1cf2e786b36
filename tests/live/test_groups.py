"""A control group is followed: whoever comes into it in the window has books from then on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfdiag.capture import cgroups
from perfdiag.facts.host_facts import Facts
from perfdiag.recording import schema

from live.support import laws
from live.support.dying import PROGRAM
from live.support.fixtures import Attach, Cleanup, Start
from live.support.host import enter
from live.support.recorder import Recorder
from live.support.recording import Recording, ns_of, table
from live.support.workload import WORKLOADS, Workload
from unit.support.waiting import until

THREADS = 7
MANY_EXECS = 800  # each is told with its end, in 4 kB: more than the ring holds


@contextlib.contextmanager
def made(group: Path) -> Iterator[Path]:
    """A control group that is gone afterwards; whoever is still in it goes to the root."""
    group.mkdir()
    try:
        yield group
    finally:
        root = next(tree for tree in cgroups.mounts() if group.is_relative_to(tree))
        for pid in cgroups.processes(group):
            with contextlib.suppress(OSError):
                (root / "cgroup.procs").write_text(str(pid))
        for directory, _names, _files in os.walk(group, topdown=False):
            os.rmdir(directory)


def tree(kind: str) -> Path:
    """Return where a kind of hierarchy is mounted: one of version 2, of a controller, or systemd's own."""
    for directory in cgroups.mounts():
        if kind == ("version 2" if (directory / "cgroup.controllers").exists() else directory.name):
            return directory
    pytest.skip(f"no control groups of {kind} are mounted here")


@pytest.fixture
def group(request: pytest.FixtureRequest, cleanup: Cleanup) -> Path:
    """A control group of the kind that the test asks for, else of version 2; its name has and begins with blanks."""
    kind = getattr(request, "param", "version 2")
    return cleanup.enter_context(made(tree(kind) / f" perfdiag test {os.getpid()}"))


@pytest.fixture
def resident(group: Path, start: Start) -> Workload:
    """A process that is in the group from before the start, and sleeps."""
    return start("spin", "--duration-ms", 60_000, prepare=enter(group))


def follow(attach: Attach, group: Path, *targets: Workload | int) -> Recorder:
    """Record a group as perfdiag does."""
    known = cgroups.identify(group)
    assert known
    order = f"group {known.hierarchy} {known.id} {known.parent_id} {known.name}"
    return attach(*targets, first=[order], interval_ms=50)


def outsider(start: Start) -> Workload:
    """A process of several threads that lives outside the group."""
    workload = start("many_threads", "--threads", THREADS, "--period-ms", 10, "--duration-ms", 60_000)
    workload.start()
    workload.await_threads(1 + THREADS)
    return workload


def await_living(recorder: Recorder, threads: int) -> None:
    """Wait until the recorder sees so many living threads."""

    def seen() -> bool:
        lines = [json.loads(line) for line in recorder.output.read_bytes().splitlines(keepends=True) if b"\n" in line]
        living = [line["threads"] for line in lines if line["type"] == "interval"]
        return bool(living) and living[-1] == threads

    until(seen, f"{threads} threads are followed")


def stop_and_check(recorder: Recorder) -> Recording:
    recording = recorder.stop()
    laws.check(recording)
    return recording


def joins(recording: Recording) -> list[tuple[int, str]]:
    return [(event.pid, event.text) for event in recording.of(schema.Event) if event.name == "join"]


@pytest.mark.parametrize("group", ["version 2", "memory", "systemd"], indirect=True)
@pytest.mark.may_skip("control groups of the other version")
def test_a_process_that_is_moved_into_the_group(
    group: Path, resident: Workload, start: Start, attach: Attach, cleanup: Cleanup
) -> None:
    """docker exec, systemd-run --scope, a supervisor that starts in a group of its own."""
    beside = cleanup.enter_context(made(group.parent / f"{group.name} beside"))
    moved, other = outsider(start), outsider(start)
    recorder = follow(attach, group, resident)
    (beside / "cgroup.procs").write_text(str(other.pid))
    before_ns = time.monotonic_ns()
    (group / "cgroup.procs").write_text(str(moved.pid))
    after_ns = time.monotonic_ns()
    await_living(recorder, 1 + 1 + THREADS)
    recording = stop_and_check(recorder)
    assert joins(recording) == [(moved.pid, "many_threads")]
    assert {row.pid for row in recording.threads} == {resident.pid, moved.pid}
    rows = recording.of_process(moved.pid)
    assert len(rows) == 1 + THREADS and all(ns_of(row, "wait.timer", "wait.signal") for row in rows), rows
    assert before_ns < recording.thread(moved.pid).start_ns < after_ns, table(recording.thread(moved.pid))
    assert min(row.start_ns for row in rows) > before_ns


def test_a_process_that_is_born_in_the_group(group: Path, resident: Workload, start: Start, attach: Attach) -> None:
    """systemd's child: it is made inside the group by somebody outside, and never moved."""
    recorder = follow(attach, group, resident)
    born = start("slow_child", "--count", 3, "--child-ms", 20, wrapper=[str(WORKLOADS / "clone_into"), str(group)])
    truth = born.run()
    await_living(recorder, 1)
    recording = stop_and_check(recorder)
    assert joins(recording) == []
    row = recording.thread(born.pid)
    assert row.comm == "slow_child" and ns_of(row, "wait.child") > 0.5 * 3 * 20e6, (truth, table(row))
    assert recording.footer.threads_seen == 1 + 1 + 3
    assert born.process.pid not in {row.pid for row in recording.threads}, "its parent is outside"


def test_a_group_that_is_frozen(group: Path, resident: Workload, attach: Attach) -> None:
    """Its threads sleep on their way back to user space, as others do that wait for a page there."""
    resident.start()
    recorder = attach(resident)
    resident.await_threads(2)
    told_ns = time.monotonic_ns()
    (group / "cgroup.freeze").write_text("1")
    until(lambda: "frozen 1" in (group / "cgroup.events").read_text(), "the group is frozen")
    frozen_ns = time.monotonic_ns()
    time.sleep(0.8)
    least_ns = time.monotonic_ns() - frozen_ns
    (group / "cgroup.freeze").write_text("0")
    until(lambda: "frozen 0" in (group / "cgroup.events").read_text(), "the group is thawed")
    most_ns = time.monotonic_ns() - told_ns
    recording = stop_and_check(recorder)
    rows = recording.of_process(resident.pid)
    assert len(rows) > 1
    for row in rows:
        assert 0.95 * least_ns < ns_of(row, "wait.stopped") < 1.05 * most_ns, (least_ns, most_ns, table(row))
    assert {detail.object for detail in recording.details("wait.stopped", "")} == {"stop:freezer"}


def test_a_group_that_is_frozen_at_the_end(group: Path, resident: Workload, attach: Attach) -> None:
    """Of its threads /proc says that they sleep."""
    resident.start()
    recorder = attach(resident)
    resident.await_threads(2)
    (group / "cgroup.freeze").write_text("1")
    until(lambda: "frozen 1" in (group / "cgroup.events").read_text(), "the group is frozen")
    try:
        recording = stop_and_check(recorder)
    finally:
        (group / "cgroup.freeze").write_text("0")
    facts = Facts.parse(recording.of(schema.Fact))
    assert facts.frozen == {resident.pid: True} and facts.processes[resident.pid].state not in ("T", "t")


def test_a_group_that_is_made_inside(group: Path, resident: Workload, start: Start, attach: Attach) -> None:
    moved = outsider(start)
    recorder = follow(attach, group, resident)
    inner = group / "first" / "second"
    inner.mkdir(parents=True)
    (inner / "cgroup.procs").write_text(str(moved.pid))
    await_living(recorder, 1 + 1 + THREADS)
    recording = stop_and_check(recorder)
    assert len(recording.of_process(moved.pid)) == 1 + THREADS


def test_a_unit_that_is_started_again(group: Path, resident: Workload, start: Start, attach: Attach) -> None:
    """systemd removes the group of a unit that has ended, and makes another one of the same name."""
    recorder = follow(attach, group, resident)
    resident.__exit__(None, None, None)
    until(lambda: "populated 0" in (group / "cgroup.events").read_text(), "the group is empty")
    await_living(recorder, 0)
    first = group.stat().st_ino
    group.rmdir()
    group.mkdir()
    assert group.stat().st_ino != first
    moved = outsider(start)
    (group / "cgroup.procs").write_text(str(moved.pid))
    await_living(recorder, 1 + THREADS)
    recording = stop_and_check(recorder)
    assert recording.thread(resident.pid).state == "exited"
    assert len(recording.of_process(moved.pid)) == 1 + THREADS


def test_a_process_that_leaves_the_group(group: Path, resident: Workload, start: Start, attach: Attach) -> None:
    """It is followed to its end: what it did was asked for."""
    moved = outsider(start)
    recorder = follow(attach, group, resident)
    (group / "cgroup.procs").write_text(str(moved.pid))
    await_living(recorder, 1 + 1 + THREADS)
    (group.parent / "cgroup.procs").write_text(str(moved.pid))
    left_ns = time.monotonic_ns()
    (group / "cgroup.procs").write_text(str(moved.pid))  # and to come again makes nothing twice
    recording = stop_and_check(recorder)
    assert all(row.at_ns > left_ns for row in recording.of_process(moved.pid))
    assert recording.footer.threads_seen == 1 + 1 + THREADS
    assert joins(recording) == [(moved.pid, "many_threads")]


def test_a_pid_that_is_another_s_by_then(group: Path, resident: Workload, start: Start, attach: Attach) -> None:
    """A process that joins is looked for among all: a stranger with the pid of one that was followed is none."""
    recorder = follow(attach, group, resident)
    resident.__exit__(None, None, None)
    stranger = start("spin", "--duration-ms", 60_000, wrapper=[str(WORKLOADS / "clone_into"), str(resident.pid)])
    assert stranger.pid == resident.pid
    moved = outsider(start)
    (group / "cgroup.procs").write_text(str(moved.pid))
    await_living(recorder, 1 + THREADS)
    recording = stop_and_check(recorder)
    assert len(recording.of_process(moved.pid)) == 1 + THREADS
    assert [row.state for row in recording.of_process(resident.pid)] == ["exited"]


def test_who_joins_just_before_the_end(group: Path, resident: Workload, start: Start, attach: Attach) -> None:
    """Sweeps are rare, and none that is due is left out."""
    first, last = outsider(start), outsider(start)
    recorder = follow(attach, group, resident)
    (group / "cgroup.procs").write_text(str(first.pid))
    await_living(recorder, 1 + 1 + THREADS)
    (group / "cgroup.procs").write_text(str(last.pid))
    recording = stop_and_check(recorder)
    assert len(recording.of_process(first.pid)) == len(recording.of_process(last.pid)) == 1 + THREADS


def test_who_joins_while_the_ring_is_full(group: Path, start: Start, attach: Attach, cleanup: Cleanup) -> None:
    """Its event is lost, its threads are not."""
    script = f"read go; i=0; while [ $i -lt {MANY_EXECS} ]; do /bin/true; i=$((i + 1)); done; echo done; read end"
    shell = cleanup.enter_context(
        subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=enter(group))
    )
    assert shell.stdin and shell.stdout
    moved = outsider(start)
    recorder = follow(attach, group, shell.pid)
    recorder.process.send_signal(signal.SIGSTOP)
    shell.stdin.write(b"go\n")
    shell.stdin.flush()
    assert shell.stdout.readline() == b"done\n"
    (group / "cgroup.procs").write_text(str(moved.pid))
    recorder.process.send_signal(signal.SIGCONT)
    await_living(recorder, 1 + 1 + THREADS)
    recording = stop_and_check(recorder)
    assert recording.footer.lost["ring_buffer"] > 0, recording.footer.lost
    assert len(recording.of_process(moved.pid)) == 1 + THREADS


def test_perfdiag_meets_who_joins(group: Path, resident: Workload, start: Start, tmp_path: Path) -> None:
    """From the command line to the report."""
    moved, kept = outsider(start), tmp_path / "kept"
    words = [str(PROGRAM), "latency", "--json", "--cgroup", str(group), "--duration", "0", "--record", str(kept)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr and process.stdout
        said = process.stderr.readline() + process.stderr.readline()
        assert "those they start and those that join it" in said, said
        until(lambda: kept.exists() and kept.stat().st_size, "the recorder has attached")
        (group / "cgroup.procs").write_text(str(moved.pid))
        until(lambda: b'"join"' in kept.read_bytes(), "the recorder has met it")
        process.send_signal(signal.SIGINT)
        report = json.loads(process.stdout.read())
    assert joins(Recording(kept)) == [(moved.pid, "many_threads")]
    assert moved.pid in {thread["pid"] for thread in report["threads"]}, report["threads"]
